"""Own pairs of texts with the right relation, and the one that the product gives today.

`relations.jsonl` holds one pair a line: `id, lang, old, new, right, given`. `right` is a person's word:
same, refines (adds), generalises (says less), conflict (both cannot be true now), distinct. `given` is
what `check` answers on a store that holds the old text: the relation, or `none` where the old text is
not even near. When a rule or the model changes, look at the difference, then accept it:

    PYTHONPATH=src:tests python -m golden.accept
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import wellkept

FILE = Path(__file__).with_name("relations.jsonl")
ACCEPT = "PYTHONPATH=src:tests python -m golden.accept"
KIND = "note"
RELATIONS = ("same", "refines", "generalises", "conflict", "distinct")

Row = Mapping[str, str]


def rows() -> list[dict[str, str]]:
    """The pairs of the file."""
    return [json.loads(line) for line in FILE.read_text("utf-8").splitlines() if line.strip()]


def given(pairs: Sequence[Row]) -> list[str]:
    """The current answers of the product with default embedder, relation model and policy."""
    with wellkept.open("memory:") as store:
        found = []
        for place, row in enumerate(pairs):
            alone = store.in_namespace(f"pair-{place}")
            alone.remember(row["old"], kind=KIND)
            matches = alone.check(row["new"], kind=KIND).matches
            found.append(matches[0].relation if matches else "none")
        return found


def changes(before: Sequence[Row], now: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """(id, right, before, now) of every pair whose answer is another than before."""
    return [
        (row["id"], row["right"], row["given"], told)
        for row, told in zip(before, now, strict=True)
        if row["given"] != told
    ]


def is_right(right: str, told: str) -> bool:
    """Whether an answer is correct; a pair that is not compared counts as distinct."""
    return told == right or (told == "none" and right == "distinct")


def table(changed: Sequence[tuple[str, str, str, str]]) -> str:
    """The changes as a table, with a mark on each that turned right or wrong."""
    lines = [("id", "right", "before", "now", "")]
    for key, right, before, now in changed:
        mark = "better" if is_right(right, now) else "worse" if is_right(right, before) else ""
        lines.append((key, right, before, now, mark))
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def score(pairs: Sequence[Row], told: Sequence[str]) -> str:
    """How many are right."""
    hits = sum(is_right(row["right"], now) for row, now in zip(pairs, told, strict=True))
    return f"{hits} of {len(pairs)} are right"
