"""Lists of which nobody says how their texts relate: only readers have opinions on them.

A write stands beside lines of other stores that look alike, all about one or two names, or beside lines of its own.
Numbers are exchanged, a text is cut, two texts are joined. So repetitions, changes and siblings come about that the
stories do not have.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from training.compose import Composer
from training.lists.disguise import Names
from training.lists.material import Lists

ACROSS = 0.6
"""Share of lists with lines of other stores; the others are lists of stories and composed ones."""
RENUMBERED, CUT, JOINED = 0.4, 0.15, 0.1
"""How often numbers of a list are exchanged, the new text is cut, or another one is joined to it."""
_NUMBER = re.compile(r"\d+")
_PART = re.compile(r"(?<=[.;,!?。；，！？])\s*")


class Unlabelled:
    """Draws lists.

    Args:
        lists: What texts stand beside each other.
        names: What names they may have.
    """

    def __init__(self, lists: Lists, names: Names) -> None:
        self._lists, self._names = lists, names

    def draw(self, chance: random.Random, composer: Composer) -> tuple[str, list[str]]:
        """A new text and its candidates."""
        if chance.random() < ACROSS:
            new, texts = self._lists.across(chance)
            new, *texts = self._names.renamed((new, *texts), chance, chance.choice((1, 2, 2, 3)))
        else:
            listing = self._lists.draw(chance, composer)
            new, *texts = self._names.renamed((listing.new, *listing.texts), chance, chance.choice((1, 2, 8)))
        if chance.random() < RENUMBERED:
            new, *texts = renumbered((new, *texts), chance)
        if chance.random() < CUT:
            new = cut(new, chance)
        if len(texts) > 1 and chance.random() < JOINED:
            new = f"{new} {texts.pop(chance.randrange(len(texts)))}"
        return new, [text for text in dict.fromkeys(texts) if text != new] or texts


def renumbered(texts: Sequence[str], chance: random.Random) -> list[str]:
    """The texts with numbers out of few, so that some texts agree and others do not."""
    found = sorted({number for text in texts for number in _NUMBER.findall(text)})
    numbers = [*found, *(str(max(1, int(number[:9]) + chance.choice((-1, 1, 5, 10)))) for number in found)]

    def other(text: str) -> str:
        if chance.random() < 0.5:
            return text
        return _NUMBER.sub(lambda number: _like(number.group(), numbers, chance), text)

    return [other(text) for text in texts]


def _like(number: str, numbers: Sequence[str], chance: random.Random) -> str:
    """A number of as many digits."""
    return chance.choice([other for other in numbers if len(other) == len(number)] or [number])


def cut(text: str, chance: random.Random) -> str:
    """A part of the text, if it has several."""
    parts = [part for part in _PART.split(text) if len(part) > 12]
    return chance.choice(parts).rstrip(",;，；") if len(parts) > 1 else text
