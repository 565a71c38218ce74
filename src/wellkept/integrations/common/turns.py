"""Turns of a conversation that a framework hands over: each text goes through the gate."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wellkept.frozen import frozen
from wellkept.integrations.keyed import new_key
from wellkept.types import WriteResult
from wellkept.types.showing import line

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

log = logging.getLogger("wellkept")

_AT_ONCE = 100
"""Turns of one batch."""
_QUERY = 2_000
"""Characters of what was said that are looked up."""


@frozen
class Turn:
    """What one participant said.

    Attributes:
        text: The words; a turn without any is left out.
        author: Who said it.
        key: Names the turn, so that it is taken in once however often it is handed over; empty for none.
        at: When it was said.
        metadata: What the framework wants back with the memory.
    """

    text: str
    author: str = ""
    key: str = ""
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def take_in(memories: MemoryStore, turns: Iterable[Turn], *, kind: str) -> list[WriteResult]:
    """Pass turns through the gate, oldest first. Greetings and acknowledgements are not stored.

    A turn that cannot be stored, such as one that is too long, is logged as a warning; the others are stored.

    Example:
        >>> import wellkept
        >>> said = [Turn("Ada drinks green tea."), Turn("ok, thanks"), Turn("ada drinks green tea")]
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     [result.outcome for result in take_in(store, said, kind="note")]
        ['created', 'rejected', 'duplicate']
    """
    # Without a key of its own a turn gets a new one: the same words may be said again.
    items = [_item(turn, turn.key or new_key(memories), kind) for turn in turns if turn.text.strip()]
    results: list[WriteResult] = []
    for first in range(0, len(items), _AT_ONCE):
        batch = memories.remember_many(items[first : first + _AT_ONCE])
        results += [result for result in batch.results if result is not None]
        for error in batch.errors:
            log.warning("A turn was not stored: %s: %s", error.excerpt, error.message)
    return results


def _item(turn: Turn, key: str, kind: str) -> dict[str, Any]:
    given = {"agent": turn.author, "idempotency_key": key, "event_time": turn.at, "metadata": turn.metadata}
    return {"content": turn.text, "kind": kind, "automatic": True, **{name: one for name, one in given.items() if one}}


def query_of(*texts: str) -> str:
    """What was said, as a query: on one line, cut to a length that is quickly embedded; empty if nothing was said.

    Example:
        >>> query_of("Where is", "the\\ntea?")
        'Where is the tea?'
    """
    return line(" ".join(texts), _QUERY)
