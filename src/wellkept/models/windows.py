"""A text as windows of pieces, each of which a sentence network reads at once."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from wellkept.models.tokenizer.wordpiece import Encoding

WINDOW = 256
"""Most pieces per window, including the frame."""
MAX_WINDOWS = 128
"""Enough for 30,000 characters of a script with one piece per character."""
UNREADABLE_SHARE = 0.5
"""Share of unknown letters above which a text is unreadable."""

Window = tuple[int, ...]
"""The numbers of pieces, with the frame."""


class _Tokenizer(Protocol):
    def encode(self, text: str) -> Encoding: ...


@dataclass(frozen=True)
class Windows:
    """Cuts texts for one network.

    Attributes:
        tokenizer: Gives the pieces of a text.
        start / end: The pieces that frame a window; the network may have learnt to read a word first.
        unknown: The piece of what the vocabulary cannot spell.
        width_variants: Whether width variants, such as full-width letters, are the same to the network.
    """

    tokenizer: _Tokenizer
    start: Window
    end: int
    unknown: int
    width_variants: bool = False

    def of(self, text: str) -> list[Window]:
        """The pieces of a text in windows without overlap; empty if it is unreadable."""
        # Lone surrogates have no meaning.
        plain = text.encode("utf-8", "replace").decode()
        plain = unicodedata.normalize("NFKC", plain) if self.width_variants else plain
        encoding = self.tokenizer.encode(plain)
        if encoding.unknown_share(plain, self.unknown) > UNREADABLE_SHARE:
            return []
        ids, words = encoding.ids, encoding.word_ids
        body = WINDOW - len(self.start) - 1
        cut: list[Window] = []
        at = 0
        while at < len(ids) and len(cut) < MAX_WINDOWS:
            end = _window_end(words, at, body)
            cut.append((*self.start, *ids[at:end], self.end))
            at = end
        return cut


def _window_end(words: Sequence[int], start: int, body: int) -> int:
    """End of the window that starts at `start`: full, but not inside a word if avoidable."""
    full = start + body
    if full >= len(words):
        return len(words)
    end = full
    while end > start + body // 2 and words[end] == words[end - 1]:
        end -= 1
    return end if words[end] != words[end - 1] else full
