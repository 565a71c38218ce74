"""The default embedder: all-MiniLM-L6-v2, integer-quantised, on the CPU, without a download.

The weights are packaged and used only if their sha256 matches. A text is split into windows of at most 256 pieces;
window vectors are averaged by length. Two texts that the vocabulary cannot spell would look identical, so such a text
gets the vector of its words (`wellkept.models.hashing`).

Vectors are identical on every processor, alone and in any batch: products are integer products, each row is scaled
separately, and rounding removes the remaining differences. Training and quality: `weights/EMBEDDER.md`.
"""

from __future__ import annotations

import importlib.util
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellkept.core.judging.calibration import MINILM, Calibration
from wellkept.core.judging.chatter import ChatterHead
from wellkept.core.records.vectors import unit
from wellkept.errors import ModelUnavailable
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.loading import LoadingLock
from wellkept.models.onnx import first_output, owner, session, verified_bytes
from wellkept.models.port import Embedded
from wellkept.models.tokenizer.data_files import DATA
from wellkept.models.tokenizer.wordpiece import Encoding, Tokenizer, minilm_pieces

WEIGHTS_SHA256 = "4429fef9bf6ecad429f09a8099e8a64b98d8c1b749915ce913683fbdcaffd8d5"
CHATTER_SHA256 = "28a5583ef6edda2f69060f1bdc8ec178bdcdf9e429f6005f4f1a04e37cea4a4e"
WINDOW = 256
"""Most pieces per window, including the two frame pieces."""
MAX_WINDOWS = 128
"""Enough for 30,000 characters of a script with one piece per character."""
UNREADABLE_SHARE = 0.5
"""Share of unknown letters above which a text is unreadable."""
_BY_WORDS = HashingEmbedder()
"""For texts that the vocabulary cannot spell, such as Chinese; its vectors have as many components."""
_BATCH = 16
_BODY = WINDOW - 2
_WHAT = "the MiniLM weights"
_REINSTALL = "Reinstall wellkept"
_DECIMALS = 7
"""Decimals of a component; processors differ in the fifteenth."""


class MiniLmEmbedder:
    """Sentence vectors of 384 components; loads on first use, safe to share between threads.

    Args:
        weights: Path of the ONNX file; by default the packaged one. The sha256 is always checked.

    Example:
        >>> embedder = MiniLmEmbedder()
        >>> [answer.chunks for answer in embedder.embed(["Tea at four.", "Tee um vier."])]
        [1, 1]
    """

    id = f"minilm-l6-v2-int7@{WEIGHTS_SHA256[:8]}/mean/{WINDOW}"
    dim = 384
    calibration: Calibration = MINILM
    lexical = False
    languages: frozenset[str] | None = frozenset({"en"})
    """In other languages unrelated sentences reach the cosines of related ones."""

    def __init__(self, weights: Path | None = None) -> None:
        self._weights = weights

    @property
    def chatter(self) -> ChatterHead:
        """The packaged head that knows chatter by these vectors.

        Raises:
            ModelUnavailable: Its file is missing or damaged.
        """
        return _chatter()

    def check(self) -> None:
        """Check that the package is installed and the weights match, without loading the model.

        Raises:
            ModelUnavailable: A package or file is missing, or the weights do not match.
        """
        if importlib.util.find_spec("onnxruntime") is None:
            raise _missing("onnxruntime")
        _verified(self._weights or _packaged())

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Vectors in the order of the texts.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.
        """
        if not texts:
            return []
        with _LOADING:
            model = _load(self._weights or _packaged(), owner())
        windows = [_windows(text) for text in texts]
        pending = list(dict.fromkeys(window for of_text in windows for window in of_text))
        # Sorting by length minimises padding.
        pending.sort(key=lambda window: (len(window), window))
        vectors: dict[tuple[int, ...], NDArray[np.float64]] = {}
        for start in range(0, len(pending), _BATCH):
            batch = pending[start : start + _BATCH]
            vectors.update(zip(batch, model.run(batch), strict=True))
        return [_averaged(text, of_text, vectors) for text, of_text in zip(texts, windows, strict=True)]

    def about(self, text: str) -> Embedded:
        """What `embed` says of a text beside its vector; the model is not loaded.

        Raises:
            ModelUnavailable: The vocabulary is missing or damaged.

        Example:
            >>> MiniLmEmbedder().about("今天下雨，路上很堵。").by_words
            True
        """
        windows = _windows(text)
        return Embedded(None, chunks=len(windows) or 1, spelled=not windows or _spelled(text), by_words=not windows)


def _spelled(text: str) -> bool:
    """Whether most letters belong to a script that the vocabulary holds only as single letters.

    Unrelated sentences in Cyrillic, Greek, Arabic, Hangul or Devanagari reach raw cosines of .5 to .77, so their
    similarity must not decide. Languages in Latin script are not affected.
    """
    letters = [sign for sign in text if sign.isalpha()]
    foreign = sum(1 for sign in letters if sign > "\u024f" and "LATIN" not in unicodedata.name(sign, ""))
    return bool(letters) and foreign > len(letters) * UNREADABLE_SHARE


def _averaged(
    text: str, windows: Sequence[tuple[int, ...]], vectors: dict[tuple[int, ...], NDArray[np.float64]]
) -> Embedded:
    if not windows:
        [of_words] = _BY_WORDS.embed([text])
        return replace(of_words, spelled=True, by_words=of_words.vector is not None)
    total = sum((len(window) * vectors[window] for window in windows), np.zeros(MiniLmEmbedder.dim))
    return Embedded(vector=unit(total), chunks=len(windows), spelled=_spelled(text))


# --------------------------------------------------------------------------------------------
# Loading


@lru_cache(maxsize=1)
def _chatter() -> ChatterHead:
    blob = verified_bytes(DATA / "chatter.json", CHATTER_SHA256, what="the weights for chatter", todo=_REINSTALL)
    return ChatterHead.of(json.loads(blob))


_LOADING = LoadingLock()


class _Model:
    """A loaded and verified session."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, windows: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        """One unit vector per window: the mean over its pieces; 0 is padding."""
        longest = max(map(len, windows))
        ids = np.zeros((len(windows), longest), dtype=np.int64)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
        vectors = first_output(self._session, {"pieces": ids}, what="the MiniLM model")
        return np.asarray(np.round(vectors, _DECIMALS), dtype=np.float64)


def _windows(text: str) -> list[tuple[int, ...]]:
    """The pieces of a text in windows without overlap; empty if it is unreadable."""
    tokenizer = _tokenizer()
    pieces = tokenizer.pieces
    # Lone surrogates have no meaning.
    encoding = tokenizer.encode(text.encode("utf-8", "replace").decode())
    if not _is_readable(text, encoding, pieces["[UNK]"]):
        return []
    ids, words = encoding.ids, encoding.word_ids
    cut: list[tuple[int, ...]] = []
    start = 0
    while start < len(ids) and len(cut) < MAX_WINDOWS:
        end = _window_end(words, start)
        cut.append((pieces["[CLS]"], *ids[start:end], pieces["[SEP]"]))
        start = end
    return cut


def _is_readable(text: str, encoding: Encoding, no_piece: int) -> bool:
    known = unknown = 0
    # Letters are counted, not words: in a script without spaces one unknown word may be a whole sentence.
    for piece, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        letters = sum(character.isalnum() for character in text[start:end])
        if piece == no_piece:
            unknown += letters
        else:
            known += letters
    return known > 0 and unknown <= UNREADABLE_SHARE * (known + unknown)


def _window_end(words: Sequence[int], start: int) -> int:
    """End of the window that starts at `start`: full, but not inside a word if avoidable."""
    full = start + _BODY
    if full >= len(words):
        return len(words)
    end = full
    while end > start + _BODY // 2 and words[end] == words[end - 1]:
        end -= 1
    return end if words[end] != words[end - 1] else full


@lru_cache(maxsize=2)
def _load(weights: Path, _process: int) -> _Model:
    """Load the session; failures are raised and not cached."""
    if importlib.util.find_spec("onnxruntime") is None:
        raise _missing("onnxruntime")
    blob = _verified_bytes(weights)
    todo = "Upgrade onnxruntime, or choose the embedder `hashing`"
    return _Model(session(blob, what=_WHAT, where=weights, todo=todo, exact=True))


@lru_cache(maxsize=1)
def _tokenizer() -> Tokenizer:
    return Tokenizer(minilm_pieces())


def _packaged() -> Path:
    return Path(__file__).parent / "weights" / "embedder.onnx"


def _verified_bytes(weights: Path) -> bytes:
    return verified_bytes(weights, WEIGHTS_SHA256, what=_WHAT, todo=_REINSTALL)


@lru_cache(maxsize=4)
def _verified(weights: Path) -> None:
    _verified_bytes(weights)


def _missing(package: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"the MiniLM embedder needs the package {package}",
        where="import",
        todo=f"Install it with `pip install {package}`, or choose the embedder `hashing`",
    )
