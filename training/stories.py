"""Pairs out of stories: lives of stores, written by hand, whose lines say what they do to earlier ones.

A write's truth names a key and its value: `K1=flat` states it, `restates K1` repeats what holds, `updates K1=boat`
changes it, `refines K1` adds to it, `late K1=flat` is an old value told after its update, `noise` says nothing worth
keeping. How any two lines of one story relate follows from that. Lines of two stories are always distinct.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.compose import Labels, Pair

HERE = Path(__file__).parent / "stories"
TRAINING = ("train", "own", "voices")
CALIBRATING = ("calibrate", "calibrate_voices")
"""Files whose authors train, and those whose authors fit probabilities and bounds; those of `select` choose."""

NEAR, FAR = 3, 1
"""Distinct pairs of each write: with its nearest earlier lines of another key, and with any other."""
CROWD = 2
"""Nearest lines of other stores that each write is paired with."""
NOISE_KEPT = 0.25
"""Share of distinct pairs with a line of chatter that are kept; there are too many of them."""

_KEY = re.compile(r"K\d+")
_ACT = re.compile(r"restates|updates|refines|late")


@dataclass(frozen=True)
class Line:
    """One write of a story: its text, its act, its key, and the value that it states or repeats."""

    text: str
    kind: str
    at: str
    act: str
    key: str
    value: str


@dataclass(frozen=True)
class Story:
    """The writes of one store, in order; questions, each with a part of the text that answers it."""

    id: str
    author: str
    lang: str
    lines: tuple[Line, ...]
    questions: tuple[tuple[str, str], ...] = ()


def stories(*files: str, folder: Path = HERE) -> list[Story]:
    """The stories of these files, without their suffix; of a missing file none."""
    found = []
    for file in files:
        path = folder / f"{file}.jsonl"
        if path.exists():
            found += [
                _story(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
            ]
    return found


def _story(row: dict[str, object]) -> Story:
    lines, current = [], {}
    for write in row["writes"]:  # type: ignore[attr-defined]
        truth = write["truth"]
        named = _KEY.search(truth)
        key = named.group() if named else ""
        act = truth if not key else found[0] if (found := _ACT.match(truth)) else "first"
        value = truth.partition("=")[2]
        if act in ("first", "updates"):
            current[key] = value
        lines.append(Line(write["text"], write["kind"], write["t"], act, key, value or current.get(key, "")))
    asked = tuple((query["q"], query["answer_contains"]) for query in row.get("queries", ()))  # type: ignore[attr-defined]
    author = str(row.get("author") or row["id"]).split("-")[0]
    return Story(str(row["id"]), author, str(row["lang"]), tuple(lines), asked)


def labels_of(old: Line, new: Line) -> Labels:
    """How the newer of two lines of one story relates to the older one."""
    if "noise" in (old.act, new.act) or old.key != new.key:
        return ("distinct",)
    if old.value != new.value:
        return ("conflict",)
    match old.act == "refines", new.act == "refines":
        case False, True:
            return ("refines",)
        case True, True:
            return ("refines", "distinct")
        case True, False:
            return ("generalises", "same")
        case _:
            # An event that tells an update often says more than the plain value.
            return ("same", "generalises") if old.act == "updates" or new.act == "late" else ("same",)


def pairs_of(story: Story, chance: random.Random) -> Iterator[Pair]:
    """All related pairs of a story, and for each write the distinct ones that look most alike."""
    for place, new in enumerate(story.lines):
        apart: list[tuple[float, int]] = []
        for before, old in enumerate(story.lines[:place]):
            labels = labels_of(old, new)
            if labels != ("distinct",):
                yield Pair(old.text, new.text, labels, story.lang, story.id)
            elif "noise" not in (old.act, new.act) or chance.random() < NOISE_KEPT:
                apart.append((_overlap(old.text, new.text), before))
        apart.sort(reverse=True)
        chosen = [before for _, before in apart[:NEAR]]
        chosen += [chance.choice(apart)[1] for _ in range(FAR) if len(apart) > NEAR]
        for before in dict.fromkeys(chosen):
            yield Pair(story.lines[before].text, new.text, ("distinct",), story.lang, story.id)


def _overlap(a: str, b: str) -> float:
    ours, theirs = (set(re.findall(r"\w+", text.lower())) for text in (a, b))
    return len(ours & theirs) / max(1, min(len(ours), len(theirs)))


def crowd_pairs(
    found: Sequence[Story],
    vectors: NDArray[np.float32],
    crowd: Sequence[str],
    crowd_vectors: NDArray[np.float32],
    count: int = CROWD,
) -> list[Pair]:
    """Each write with the nearest lines of other authors' stories and of a crowd of strangers: all distinct.

    Args:
        found: The stories.
        vectors: Unit vectors of all their lines in order, shape (lines, dimensions).
        crowd: Further texts that belong to no story.
        crowd_vectors: Their unit vectors.
        count: Nearest lines of each sort; the pairs of a write follow each other.
    """
    rows = [(story, line) for story in found for line in story.lines]
    authors = np.array([story.author for story, _ in rows])
    pairs = []
    for start in range(0, len(rows), 512):
        block = vectors[start : start + 512]
        near, strange = block @ vectors.T, block @ crowd_vectors.T
        near[authors[start : start + 512, None] == authors[None, :]] = -1.0
        for at, (story, line) in enumerate(rows[start : start + 512]):
            for other in np.argpartition(-near[at], count)[:count]:
                pairs.append(Pair(rows[other][1].text, line.text, ("distinct",), story.lang, story.id))
            for other in np.argpartition(-strange[at], count)[:count] if crowd else ():
                pairs.append(Pair(crowd[other], line.text, ("distinct",), story.lang, story.id))
    return pairs
