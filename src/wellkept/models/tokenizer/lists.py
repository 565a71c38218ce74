"""Input rows of the relation model: a new text and its candidates, in one row.

The new text stands first; each candidate follows in a block of its own, `[CLS] candidate [SEP]`, with the positions
that it would have as the second text of a pair. A block sees itself and the new text; the new text sees all blocks. So
the order of the candidates does not matter, and candidates reach each other through the new text. A row with one
candidate reads a pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wellkept.core.text.text_cache import MIB, remembered
from wellkept.frozen import frozen
from wellkept.models.tokenizer.pairs import FRAME_PIECES, MARKS, SHARED, PairReader, Read
from wellkept.models.tokenizer.unigram import Unigram
from wellkept.models.tokenizer.wordpiece import Tokenizer

MOST_CANDIDATES = 8
LONGEST_LIST = 384
"""Most pieces of a row; what does not fit is read in another row."""
LONGEST_PAIR = 256
"""Most pieces of the new text and one candidate, since the encoder knows no further positions."""
PARTS = 840
"""Shares of candidates are given in parts of this, which every number of candidates up to eight divides."""


@frozen
class ListRow:
    """One new text and its candidates as model input; the parts are of equal length.

    Attributes:
        pieces: Word pieces.
        marks: Side and kind of each piece, as if its word stood in no other text.
        shared: Share of the texts opposite in which the word of the piece stands, 0 to 1.
        places: Positions; those of a block start again after the new text.
        blocks: 0 for the new text, from 1 on the number of the candidate.
    """

    pieces: tuple[int, ...]
    marks: tuple[int, ...]
    shared: tuple[float, ...]
    places: tuple[int, ...]
    blocks: tuple[int, ...]


class ListReader:
    """Turns a new text and its candidates into a row.

    Args:
        tokenizer: With the vocabulary of the network.
    """

    def __init__(self, tokenizer: Tokenizer | Unigram) -> None:
        self.tokenizer = tokenizer
        self.read = remembered(8 * MIB)(PairReader(tokenizer).read)
        """Tokenises one text; a stored text stands in the lists of many new ones."""
        self._start, self._end = tokenizer.pieces["[CLS]"], tokenizer.pieces["[SEP]"]

    def row(self, new: Read, candidates: Sequence[Read]) -> ListRow:
        """The new text and its candidates as one row."""
        standing = Counter(word for candidate in candidates for word in set(candidate.words))
        size = len(new.pieces)
        pieces, marks = [*new.pieces, self._end], [*new.kinds, SHARED]
        shared = [standing[word] / len(candidates) if word else 1.0 for word in new.words] + [1.0]
        places, blocks = list(range(1, size + 2)), [0] * (size + 1)
        ours = set(new.words)
        for number, candidate in enumerate(candidates, start=1):
            pieces += [self._start, *candidate.pieces, self._end]
            marks += [SHARED, *(MARKS + kind for kind in candidate.kinds), MARKS + SHARED]
            shared += [1.0, *(float(not word or word in ours) for word in candidate.words), 1.0]
            places += [0, *range(size + 2, size + 3 + len(candidate.pieces))]
            blocks += [number] * (len(candidate.pieces) + 2)
        return ListRow(tuple(pieces), tuple(marks), tuple(shared), tuple(places), tuple(blocks))


def in_rows(new: Read, candidates: Sequence[Read], longest: int = LONGEST_LIST) -> list[list[int]]:
    """The positions of the candidates, in as few lists in order as fit; a pair that is too long is left out."""
    lists: list[list[int]] = []
    used = 0
    for at, candidate in enumerate(candidates):
        cost = len(candidate.pieces) + 2
        if len(new.pieces) + len(candidate.pieces) + FRAME_PIECES > LONGEST_PAIR:
            continue
        if not lists or used + cost > longest or len(lists[-1]) == MOST_CANDIDATES:
            lists.append([])
            used = len(new.pieces) + 1
        lists[-1].append(at)
        used += cost
    return lists


def fed(row: ListRow) -> dict[str, NDArray[np.int64]]:
    """The inputs of the model for one row, by name."""
    parts = {"pieces": row.pieces, "marks": row.marks, "places": row.places, "blocks": row.blocks}
    feed = {name: np.asarray([values], dtype=np.int64) for name, values in parts.items()}
    feed["shared"] = np.rint(np.asarray([row.shared]) * PARTS).astype(np.int64)
    return feed | gathered(row)


def gathered(row: ListRow) -> dict[str, NDArray[np.int64]]:
    """Which pieces see which, block by block, so that no attention is computed and then masked.

    Returns:
        asking: The places of each block's pieces (blocks, size of the largest); a shorter one repeats its first.
        asked: The places that its pieces see: the new text, then its own; -1 is none.
        back: The place of each piece of a block among all of `asking`.
    """
    size = np.bincount(row.blocks)
    starts, new, widest = np.cumsum(size)[:-1, None], size[0], size[1:].max()
    steps = np.arange(widest)[None, :]
    present = steps < size[1:, None]
    own = np.where(present, starts + steps, -1)
    told = np.broadcast_to(np.arange(new), (len(own), new))
    return {
        "asking": np.where(present, own, starts).astype(np.int64),
        "asked": np.hstack([told, own]).astype(np.int64),
        "back": np.flatnonzero(present).astype(np.int64),
    }
