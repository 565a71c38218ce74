"""The writing methods of a reading transaction, which all raise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from wellkept.errors import ReadOnly
from wellkept.storage.port import Usage
from wellkept.types import Effect, JournalEntry

if TYPE_CHECKING:
    from wellkept.types import Vector


class ReadingOnly:
    """Rejects every writing method of `Tx` and `Moving`."""

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """Refused."""
        raise _refusal()

    def restore(
        self,
        entries: Iterable[JournalEntry],
        *,
        loose: Iterable[Effect] = (),
        vectors: Mapping[str, Vector] | None = None,
        afresh: bool = False,
    ) -> int:
        """Refused."""
        raise _refusal()

    def note_asking(self, text: str) -> None:
        """Refused."""
        raise _refusal()

    def touch(self, usage: Mapping[str, Usage]) -> None:
        """Refused."""
        raise _refusal()

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """Refused."""
        raise _refusal()


def _refusal() -> ReadOnly:
    return ReadOnly("this transaction only reads", todo="Begin it with write=True")
