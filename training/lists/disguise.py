"""Lists in which names are exchanged and pieces are hidden, so that the reader does not know its stories by heart."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from training.lists.material import Listing
from training.stories import Story
from wellkept.models.tokenizer.lists import ListRow

UNINFLECTED = frozenset(("en", "fr", "es", "pt", "it", "nl", "sv", "da", "nb"))
"""Languages whose stories give names: a name has one form there, and other nouns are not capitalised."""
RARE = 3
"""Most stories that a name stands in; a more common capitalised word is a month, a product or a language."""
HIDDEN = 0.1
"""Share of the pieces that are hidden."""
MASK = 103
"""The piece of a hidden place in MiniLM's vocabulary; the pieces up to it have no text."""

_WORD = re.compile(r"[^\W\d_]{3,}")


class Names:
    """Exchanges the names of a list for names of other stories, each name for the same one in all of its texts.

    Args:
        found: Training stories.
    """

    def __init__(self, found: Iterable[Story]) -> None:
        stories_of: Counter[str] = Counter()
        small: set[str] = set()
        for story in found:
            words = {word for line in story.lines for word in _WORD.findall(line.text)}
            small |= {word for word in words if word.islower()}
            if story.lang in UNINFLECTED:
                stories_of.update(word for word in words if word.istitle())
        rare = (word for word, count in stories_of.items() if count <= RARE and word.lower() not in small)
        self._names = sorted(rare)
        self._known = frozenset(self._names)

    def exchanged(self, listing: Listing, chance: random.Random) -> Listing:
        """The list with other names; its relations stay as they are."""
        new, *texts = self.renamed((listing.new, *listing.texts), chance, len(self._names))
        return Listing(new, tuple(texts), listing.labels)

    def renamed(self, texts: Sequence[str], chance: random.Random, most: int) -> list[str]:
        """The texts with other names, at most so many different ones."""
        found = {word for text in texts for word in _WORD.findall(text)} & self._known
        names = self._names if most >= len(self._names) else chance.sample(self._names, most)
        others = {name: chance.choice(names) for name in sorted(found)}
        return [_WORD.sub(lambda word: others.get(word.group(), word.group()), text) for text in texts]


def hidden(row: ListRow, chance: random.Random, mask: int = MASK) -> ListRow:
    """The row with some of its pieces hidden; their marks stay. Pieces up to the mask's have no text."""
    pieces = (mask if piece > mask and chance.random() < HIDDEN else piece for piece in row.pieces)
    return replace(row, pieces=tuple(pieces))
