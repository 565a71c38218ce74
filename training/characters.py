"""Generate the character table for text folding from the behaviour of the package `tokenizers`.

    PYTHONPATH=src .venv-dev/bin/python -m training.characters     (the environment of the tests has tokenizers)

The table is frozen, so that texts are read the same under every Unicode version of Python. It contains the action of
BERT's normaliser and pre-tokeniser for each character, and its canonical combining class.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from tokenizers.normalizers import NFD, BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

TABLE = Path(__file__).parent.parent / "src" / "wellkept" / "models" / "data" / "characters.json.gz"
PRIVATE, HANGUL = "Co", range(0xAC00, 0xD7A4)
"""Characters without a row, because they are the same in all versions of Unicode."""

_CLEANED = BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
_SET_APART = BertNormalizer(clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False)
_NORMAL = BertNormalizer(clean_text=True, handle_chinese_chars=True, lowercase=True)
_SPLIT = BertPreTokenizer()


def table() -> dict[str, object]:
    """Ranges of code points by action, replacements of characters that change, and canonical combining classes."""
    kinds: dict[str, list[int]] = {"removed": [], "space": [], "ideograph": [], "punctuation": [], "mark": []}
    forms: dict[str, str] = {}
    classes: dict[str, int] = {}
    for point in (*range(0xD800), *range(0xE000, 0x110000)):
        character = chr(point)
        cleaned = _CLEANED.normalize_str(character)
        if not cleaned:
            if unicodedata.category(character) != PRIVATE:
                kinds["removed"].append(point)
            continue
        if cleaned == " ":
            kinds["space"].append(point)
            continue
        form = _NORMAL.normalize_str(character).strip()
        if _SET_APART.normalize_str(character) != character:
            kinds["ideograph"].append(point)
        elif form and len(_SPLIT.pre_tokenize_str(f"a{form}a")) > 1:
            kinds["punctuation"].append(point)
        if not form:
            kinds["mark"].append(point)
        elif form != character and point not in HANGUL:
            forms[character] = form
        if rank := _class(NFD().normalize_str(character)[0]):
            classes[character] = rank
    return {**{kind: _ranges(points) for kind, points in kinds.items()}, "forms": forms, "classes": classes}


def _class(character: str) -> int:
    """The canonical combining class by which `tokenizers` sorts marks; 0 for characters that it does not sort."""
    rank = unicodedata.combining(character)
    # A mark changes place with one of a lower class behind it, or of a higher class before it.
    text = f"a{character}\u0334" if rank > 1 else f"a\u0345{character}"
    return rank if rank and NFD().normalize_str(text) != text else 0


def _ranges(points: Iterable[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for point in points:
        if ranges and point == ranges[-1][1] + 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return ranges


if __name__ == "__main__":
    blob = json.dumps(table(), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    TABLE.write_bytes(gzip.compress(blob, mtime=0))
    print(f'TABLE_SHA256 = "{hashlib.sha256(blob).hexdigest()}"')  # belongs into models/tokenizer/bert_folding.py
