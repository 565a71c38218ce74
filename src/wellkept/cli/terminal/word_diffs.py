"""Word differences of two texts on one line: coloured, or marked with plain signs without colour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellkept.cli.terminal.safe import safe
from wellkept.core.text.word_diff import Piece, shared, word_diff

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

_AT_LEAST = 0.3
"""Minimum share of common words; texts below it are easier to read one under the other."""
_STYLES = {"both": "", "old": "red strike", "new": "green"}
_SIGNS = {"both": ("", ""), "old": ("[-", "-]"), "new": ("{+", "+}")}


@dataclass(frozen=True)
class WordDiff:
    """A one-line word difference: removed words struck out in red, added words in green.

    Without colour: `[-old-]{+new+}`.

    Attributes:
        pieces: The result of `word_diff`.
    """

    pieces: tuple[Piece, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text

        colour = console.color_system is not None and not console.no_color
        shown = Text("  ")
        for side, text in self.pieces:
            words, space = text.rstrip(" "), " " if text.endswith(" ") else ""
            before, after = ("", "") if colour else _SIGNS[side]
            shown.append(f"{before}{safe(words)}{after}", _STYLES[side] if colour else "")
            shown.append(space)
        yield shown


def word_diff_of(old: str, new: str) -> WordDiff | None:
    """The difference of two texts for the terminal; None when they share too few words.

    Args:
        old: The older text.
        new: The newer text.

    Example:
        >>> from rich.console import Console
        >>> Console().print(word_diff_of("The port is 5432.", "The port is 5433."))
          The port is [-5432.-]{+5433.+}
    """
    pieces = word_diff(old, new)
    return WordDiff(pieces) if shared(pieces) >= _AT_LEAST else None
