"""The training material of the relation model: frames, cases and dossiers, in the folders of these names.

A *frame* is a type of fact with slots, so that one sentence serves many values. A *case* is one concrete fact and
related statements, in natural wordings. A *dossier* is a set of facts about one person or thing that are all true at
the same time. All are written by hand and released under CC0. Their keys are described in `training/README.md`.

Material is split by frame, case and dossier, never by pair, because one wording of a frame already shows its answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

HERE = Path(__file__).parent
Split: TypeAlias = Literal["train", "select", "calibrate"]

SELECT_PERCENT = 8
CALIBRATE_PERCENT = 14


@dataclass(frozen=True)
class Frame:
    """A type of fact with slots.

    Attributes:
        slots: Values by slot name.
        subject: Slots whose change gives another fact.
        exclusive: Slots whose change gives a contradicting value of the same fact.
        parts: Sentences by their role: forms, updates, negations, details, general, siblings.
        aliases: Other spellings of a value.
    """

    id: str
    lang: str
    slots: Mapping[str, Sequence[str]]
    subject: Sequence[str]
    exclusive: Sequence[str]
    parts: Mapping[str, Sequence[str]]
    aliases: Mapping[str, Sequence[str]]


@dataclass(frozen=True, eq=False)
class Case:
    """One concrete fact: its wordings, and texts that refine, generalise, contradict or only resemble it."""

    id: str
    lang: str
    parts: Mapping[str, Sequence[str]]


FRAME_PARTS = ("forms", "updates", "negations", "details", "general", "siblings")
CASE_PARTS = ("same", "refines", "general", "conflict", "distinct")


def split_of(identity: str) -> Split:
    """The split of a frame or case, by a hash of its id, so that it never changes."""
    place = int(hashlib.sha256(identity.encode()).hexdigest()[:8], 16) % 100
    if place < SELECT_PERCENT:
        return "select"
    return "calibrate" if place < SELECT_PERCENT + CALIBRATE_PERCENT else "train"


def frames(split: Split, folder: Path = HERE / "frames") -> list[Frame]:
    """The frames of a split, in a fixed order."""
    return [_frame(row) for row in _rows(folder) if split_of(row["id"]) == split]


def cases(split: Split, folder: Path = HERE / "cases", dossiers: Path = HERE / "dossiers") -> list[Case]:
    """The cases of a split in a fixed order, then the facts of its dossiers, which are all distinct from each other."""
    found = []
    for row in _rows(folder):
        if split_of(row["id"]) == split:
            parts = {name: tuple(row.get(name, ())) for name in CASE_PARTS}
            found.append(Case(row["id"], row["lang"], parts))
    for row in _rows(dossiers):
        if split_of(row["id"]) == split:
            found += _facts(row)
    return found


def is_of_dossier(identity: str) -> bool:
    """Whether a case is one fact of a dossier."""
    return "/" in identity


def _facts(dossier: Mapping[str, Any]) -> Iterator[Case]:
    facts = [{name: tuple(fact.get(name, ())) for name in CASE_PARTS} for fact in dossier["facts"]]
    for place, parts in enumerate(facts):
        others = (text for other in facts if other is not parts for texts in other.values() for text in texts)
        yield Case(f"{dossier['id']}/{place + 1:02}", dossier["lang"], {**parts, "distinct": tuple(others)})


def texts(items: Sequence[Frame | Case]) -> Iterator[tuple[str, str]]:
    """Language and sentence of all texts in the material, with unfilled slots."""
    for item in items:
        for sentences in item.parts.values():
            for sentence in sentences:
                yield item.lang, sentence
        if isinstance(item, Frame):
            for values in (*item.slots.values(), *item.aliases.values()):
                for value in values:
                    yield item.lang, value


def _frame(row: Mapping[str, Any]) -> Frame:
    parts = {name: tuple(row.get(name, ())) for name in FRAME_PARTS}
    return Frame(
        id=str(row["id"]),
        lang=str(row["lang"]),
        slots=row["slots"],
        subject=row["subject"],
        exclusive=row["exclusive"],
        parts=parts,
        aliases=row.get("value_alias", {}),
    )


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip():
                yield json.loads(line)
