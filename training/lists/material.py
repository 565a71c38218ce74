"""Lists to train on: a new text with up to eight candidates, and how it relates to each.

Most are writes of a story with earlier lines of it. In some, lines of other stores that look alike stand among the
candidates or are all of them. The others are composed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from training.compose import Composer, Labels, Pair, noise
from training.material import Case
from training.stories import Story, crowd_pairs, labels_of
from wellkept.core.judging.what_to_ask import ALIKE_ASKED, NEAREST_ASKED
from wellkept.models.tokenizer.lists import MOST_CANDIDATES

OF_STORIES = 0.6
"""Share of lists from stories; the others are composed."""
WITH_STRANGERS = 0.2
"""Share of the stories' lists with lines of other stores."""
AS_ASKED = 0.5
"""Share of lists whose candidates are those that the gate would ask about; the others are mixed."""
WITHOUT_TARGET = 0.6
"""How often a write that relates to no earlier line is drawn, compared with one that does."""
TARGETLESS, LEFT_OUT = 0.3, 0.8
"""Share of lists of a write that relates to earlier lines from which these are left out, each with this chance. Else a
text that sounds like a repetition would always have its target in the list, and the nearest candidate would be taken
for it."""
STRANGERS = 6
"""Nearest lines of other stories, and nearest texts of the crowd, that a write may be listed with."""
ALONE, SWAPPED = 0.2, 0.4
"""Share of the stories' lists with one candidate, and of all lists of one that are read in the other order, because the
likely candidates are read again, alone and in both orders."""
_TARGETS = 3
_ONE, _OF_CASE = 0.6, 0.2
_MIRRORED = {"refines": "generalises", "generalises": "refines"}


@dataclass(frozen=True)
class Listing:
    """A new text, its candidates, and the possible relations of the new text to each."""

    new: str
    texts: tuple[str, ...]
    labels: tuple[Labels, ...]


@dataclass(frozen=True)
class _Write:
    story: Story
    at: int
    first: int  # row of the story's first line among all vectors
    targets: tuple[int, ...]


class Lists:
    """Draws lists of stories and of composed texts.

    Args:
        found: Training stories.
        vectors: Unit vectors of all their lines, in order.
        crowd: Texts of other stores.
        crowd_vectors: Their vectors.
        cases: Cases, for composed lists.
        alone: Share of the stories' lists with one candidate.
    """

    def __init__(
        self,
        found: Sequence[Story],
        vectors: NDArray[np.float32],
        crowd: Sequence[str],
        crowd_vectors: NDArray[np.float32],
        cases: Sequence[Case],
        alone: float = ALONE,
    ) -> None:
        self._vectors, self._cases, self._alone = vectors, cases, alone
        pairs = crowd_pairs(found, vectors, crowd, crowd_vectors, count=STRANGERS)
        each = len(pairs) // max(1, len(vectors))
        self._strangers = [[pair.old for pair in pairs[at : at + each]] for at in range(0, len(pairs), each)]
        self._writes, first = [], 0
        for story in found:
            for at in range(1, len(story.lines)):
                labels = (labels_of(old, story.lines[at]) for old in story.lines[:at])
                targets = tuple(place for place, label in enumerate(labels) if label != ("distinct",))
                self._writes.append(_Write(story, at, first, targets))
            first += len(story.lines)

    def draw(self, chance: random.Random, composer: Composer) -> Listing:
        """One more list."""
        listing = self._drawn(chance, composer)
        swapped = len(listing.texts) == 1 and chance.random() < SWAPPED
        return _swapped(listing) if swapped else listing

    def across(self, chance: random.Random) -> tuple[str, list[str]]:
        """A write with lines of other stores that look alike, and some of its own; nobody says how they relate."""
        write = chance.choice(self._writes)
        strange, near = list(self._strangers[write.first + write.at]), self._near(write)[:STRANGERS]
        chance.shuffle(strange)
        own = [write.story.lines[at].text for at in chance.sample(near, min(len(near), chance.randint(0, 4)))]
        texts = list(dict.fromkeys([*own, *strange]))[: chance.randint(2, MOST_CANDIDATES)]
        return write.story.lines[write.at].text, texts

    def _drawn(self, chance: random.Random, composer: Composer) -> Listing:
        if chance.random() >= OF_STORIES:
            return composed(chance, composer, self._cases)
        write = chance.choice(self._writes)
        while not write.targets and chance.random() >= WITHOUT_TARGET:
            write = chance.choice(self._writes)
        size = MOST_CANDIDATES if chance.random() < 0.5 else chance.randint(1, MOST_CANDIDATES)
        size = 1 if chance.random() < self._alone else size
        lines, new = write.story.lines, write.story.lines[write.at]
        order = self._as_asked(write) if chance.random() < AS_ASKED else self._mixed(write, chance)
        if chance.random() < TARGETLESS:
            left_out = {at for at in write.targets if chance.random() < LEFT_OUT}
            order = [at for at in order if at not in left_out] or order
        rows = [(lines[at].text, labels_of(lines[at], new)) for at in order[:size]]
        if chance.random() < WITH_STRANGERS:
            strange = list(self._strangers[write.first + write.at])
            chance.shuffle(strange)
            kept = 0 if chance.random() < 0.4 else chance.randint(0, size - 1)
            rows = rows[:kept] + [(text, ("distinct",)) for text in strange[: size - min(kept, len(rows))]]
        return _listing(new.text, rows, chance)

    def _as_asked(self, write: _Write) -> list[int]:
        near, alike = self._near(write), self._alike(write)
        first = near[:NEAREST_ASKED]
        rest = [at for at in alike if at not in first]
        return [*first, *rest[:ALIKE_ASKED]]

    def _mixed(self, write: _Write, chance: random.Random) -> list[int]:
        targets = list(write.targets)
        chance.shuffle(targets)
        order = targets[:_TARGETS]
        anywhere = list(range(write.at))
        chance.shuffle(anywhere)
        sources = [iter(self._near(write)), iter(self._alike(write)), iter(anywhere)]
        while len(order) < min(MOST_CANDIDATES, write.at):
            source = chance.choices(sources, (0.45, 0.3, 0.25))[0]
            at = next((at for at in source if at not in order), None)
            if at is not None:
                order.append(at)
        return order

    def _near(self, write: _Write) -> list[int]:
        vectors = self._vectors[write.first : write.first + write.at + 1]
        return [int(at) for at in np.argsort(-(vectors[:-1] @ vectors[-1]), kind="stable")]

    def _alike(self, write: _Write) -> list[int]:
        ours = _words(write.story.lines[write.at].text)
        shares = [
            len(ours & theirs) / max(1, min(len(ours), len(theirs)))
            for theirs in (_words(line.text) for line in write.story.lines[: write.at])
        ]
        return sorted(range(write.at), key=lambda at: -shares[at])


def _swapped(listing: Listing) -> Listing:
    labels = tuple(_MIRRORED.get(label, label) for label in listing.labels[0])
    return Listing(listing.texts[0], (listing.new,), (labels,))


def composed(chance: random.Random, composer: Composer, cases: Sequence[Case]) -> Listing:
    """A composed pair alone, all texts of one case, or a pair among texts of other material, which are distinct."""
    roll = chance.random()
    if roll < _ONE:
        pair = composer.draw()
        return Listing(pair.new, (pair.old,), (pair.labels,))
    if roll < _ONE + _OF_CASE:
        return _of_case(chance, chance.choice(cases))
    pair, rows = composer.draw(), []
    rows.append((pair.old, pair.labels))
    for _ in range(chance.randint(1, MOST_CANDIDATES - 1)):
        other = _other(pair, composer)
        rows.append((other.old, ("distinct",)))
    return _listing(pair.new, rows, chance)


def _other(pair: Pair, composer: Composer) -> Pair:
    """A pair of other material, if possible of the same language."""
    for _ in range(6):
        other = composer.draw()
        if other.source != pair.source and other.lang == pair.lang:
            return other
    while True:
        other = composer.draw()
        if other.source != pair.source:
            return other


_IN_CASE: dict[str, dict[str, Labels]] = {
    "same": {
        "same": ("same",),
        "refines": ("generalises",),
        "general": ("refines",),
        "conflict": ("conflict",),
        "distinct": ("distinct",),
    },
    "refines": {"same": ("refines",), "general": ("refines",), "conflict": ("conflict",), "distinct": ("distinct",)},
    "conflict": {"same": ("conflict",), "refines": ("conflict",), "distinct": ("distinct",)},
}
"""How a text of one part of a case relates to a text of another part, where the material says so."""


def _of_case(chance: random.Random, case: Case) -> Listing:
    part = chance.choices(("same", "refines", "conflict"), (0.5, 0.2, 0.3))[0]
    if not case.parts[part]:
        part = "same"
    new = chance.choice(case.parts[part])
    rows = [
        (text, labels)
        for name, labels in _IN_CASE[part].items()
        for text in chance.sample(case.parts[name], min(3, len(case.parts[name])))
        if text != new
    ]
    chance.shuffle(rows)
    size = chance.randint(1, MOST_CANDIDATES)
    return _listing(noise(new, chance), [(noise(text, chance), labels) for text, labels in rows[:size]], chance)


def _listing(new: str, rows: Sequence[tuple[str, Labels]], chance: random.Random) -> Listing:
    kept = list(dict(rows).items())
    chance.shuffle(kept)
    return Listing(new, tuple(text for text, _ in kept), tuple(labels for _, labels in kept))


@lru_cache(maxsize=1 << 16)
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


def of_authors(found: Sequence[Story], count: int, seed: int) -> Iterator[Story]:
    """The stories of this many authors, drawn at random; a larger number includes the authors of a smaller one."""
    names = sorted({story.author for story in found})
    random.Random(seed).shuffle(names)
    yield from (story for story in found if story.author in names[:count])
