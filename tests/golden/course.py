"""Texts of nearly the same words: another order, time, plan, place of "only", choice or partner, and true repeats.

`course.toml` holds rows and frames; each row in each frame is a pair of texts.
"""

from __future__ import annotations

import string
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("course.toml")
SORTS = ("order", "bounds", "plans", "limits", "choices", "partners")
GROUPS = {"en": ("en",), "western": ("de", "fr", "es", "pt", "it"), "ru": ("ru",), "cjk": ("zh", "ja")}


class Pair(NamedTuple):
    """Two texts, of which sort they are and in which language."""

    sort: str
    lang: str
    old: str
    new: str


class _Capitals(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        return value[:1].upper() + value[1:] if format_spec == "c" else str(value)


def pairs(which: str) -> list[Pair]:
    """The pairs that say something else (`other`), or the same (`same`)."""
    table = tomllib.loads(FILE.read_text("utf-8"))
    fill = _Capitals().format
    return [
        Pair(sort, lang, fill(old, *row), fill(new, *row))
        for sort in SORTS
        for lang, entry in table[sort].items()
        for row in entry["rows"]
        for old, new in entry[which]
    ]
