"""The vocabulary that the embedder and the relation model read with: WordPiece, without case."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING

from wellkept.errors import ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def minilm_pieces() -> dict[str, int]:
    """The 30,522 pieces of MiniLM, numbered.

    Raises:
        ModelUnavailable: The packaged file is damaged.
    """
    blob = gzip.decompress(resources.files("wellkept.models").joinpath("data", "minilm-vocab.txt.gz").read_bytes())
    if hashlib.sha256(blob).hexdigest() != VOCABULARY_SHA256:
        raise ModelUnavailable("the MiniLM vocabulary is damaged", where="models/data", todo="Reinstall wellkept")
    # Only line feeds separate entries: some of the pieces are exotic separators themselves.
    lines = blob.decode("utf-8").removesuffix("\n").split("\n")
    return {piece: number for number, piece in enumerate(lines)}


def tokenizer_of(pieces: Mapping[str, int]) -> Tokenizer:
    """A tokenizer over these pieces.

    Raises:
        ModelUnavailable: The package `tokenizers` is not installed.
    """
    try:
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer
    except ImportError as error:
        raise ModelUnavailable(
            "reading text needs the package tokenizers", where="import", todo="Install it with `pip install tokenizers`"
        ) from error
    # No special pieces are registered: "[SEP]" in a memory is text like any other.
    tokenizer = Tokenizer(WordPiece(dict(pieces), unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer
