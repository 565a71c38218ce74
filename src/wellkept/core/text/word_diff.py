"""Word diff of two texts: shared words, words of the old text, words of the new text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from wellkept.core.text.forms import UNSPACED

Side: TypeAlias = Literal["both", "old", "new"]
MOST_CHARS = 2_000
"""Most characters of each text that are compared."""
_WORD = re.compile(rf"([{UNSPACED}]|[^\s{UNSPACED}]+)(\s*)")


class Piece(NamedTuple):
    """A run of words.

    Attributes:
        side: Which text contains it.
        text: Its words, separated and followed by single spaces.
    """

    side: Side
    text: str


def word_diff(old: str, new: str) -> tuple[Piece, ...]:
    """The runs of shared and differing words of two texts, in reading order; old words before new ones.

    Unspaced scripts are compared character by character.

    Args:
        old: The older text; its first 2,000 characters are compared.
        new: The newer text; likewise.

    Example:
        >>> [tuple(piece) for piece in word_diff("The port is 5432.", "The port is 5433.")]
        [('both', 'The port is '), ('old', '5432.'), ('new', '5433.')]
        >>> [tuple(piece) for piece in word_diff("same", "same")]
        [('both', 'same')]
    """
    from rapidfuzz.distance import LCSseq  # imported here so that CLI help does not need it

    a, b = _WORD.findall(old[:MOST_CHARS].strip()), _WORD.findall(new[:MOST_CHARS].strip())
    pieces: list[Piece] = []
    gone: list[tuple[str, str]] = []
    come: list[tuple[str, str]] = []
    for code in LCSseq.opcodes([word for word, _ in a], [word for word, _ in b]):
        if code.tag != "equal":
            gone += a[code.src_start : code.src_end]
            come += b[code.dest_start : code.dest_end]
            continue
        pieces += [Piece("old", _text(gone)), Piece("new", _text(come))]
        gone, come = [], []
        pieces.append(Piece("both", _text(b[code.dest_start : code.dest_end])))
    pieces += [Piece("old", _text(gone)), Piece("new", _text(come))]
    return tuple(piece for piece in pieces if piece.text)


def shared(pieces: Iterable[Piece]) -> float:
    """Share of words that both texts have in common, 0 to 1.

    Args:
        pieces: From `word_diff`.

    Example:
        >>> shared(word_diff("port 5432", "port 5433")), shared(word_diff("yes", "no"))
        (0.5, 0.0)
    """
    sizes = {"both": 0, "old": 0, "new": 0}
    for side, text in pieces:
        sizes[side] += 2 * len(text.split()) if side == "both" else len(text.split())
    return sizes["both"] / max(1, sum(sizes.values()))


def _text(words: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{word} " if space else word for word, space in words)
