"""Counts of use that wait for a moment in which nobody else writes.

A read never waits for a writer, so what it has to count must not either. What waits is written
with this process's next write, its next count, or when the store is closed; a crash loses counts, nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from wellkept.core.records.codec import iso
from wellkept.storage.sqlite.session import Session

Usage = tuple[int, datetime, float | None]
"""Access count, last access, stability: as `Tx.touch` sets them."""


class Uses:
    """What was used and is not written yet, by namespace and memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], Usage] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, namespace: str, usage: Mapping[str, Usage]) -> None:
        """Take note. What is read again before it was written counts once more."""
        with self._lock:
            for memory_id, (count, last, stability) in usage.items():
                before = self._waiting.get((namespace, memory_id))
                if before is not None:
                    count, last = max(count, before[0] + 1), max(last, before[1])
                self._waiting[namespace, memory_id] = (count, last, stability)

    @contextmanager
    def written(self, session: Session) -> Iterator[None]:
        """Write what waits into the open transaction; unless the block ends well, it waits on."""
        with self._lock:
            taken, self._waiting = self._waiting, {}
        try:
            if taken:
                session.many("memory.add_usage", [_row(key, usage) for key, usage in taken.items()])
            yield
        except BaseException:
            with self._lock:
                self._waiting = taken | self._waiting
            raise


def _row(key: tuple[str, str], usage: Usage) -> dict[str, object]:
    count, last, stability = usage
    return {
        "name": key[0],
        "id": key[1],
        "access_count": count,
        "last_accessed_at": iso(last),
        "stability": stability,
    }
