"""Counts of use that wait for a moment in which nobody else writes in their namespace.

A read never waits for a writer, so what it has to count must not either. What waits is written
with this process's next write or count in the namespace, or when the store is closed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from wellkept.core.records.codec import iso
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.session import Session

Usage = tuple[int, datetime, float | None]
"""Access count, last access, stability: as `Tx.touch` sets them."""


class Uses:
    """What was used and is not written yet, by namespace and memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, dict[str, Usage]] = {}
        self._keys: dict[str, str] = {}

    def namespaces(self) -> list[str]:
        """Where something waits."""
        with self._lock:
            return [name for name, waiting in self._waiting.items() if waiting]

    def key(self, namespace: str) -> str:
        """Of the token that counted last; empty for none."""
        with self._lock:
            return self._keys.get(namespace, "")

    def add(self, namespace: str, usage: Mapping[str, Usage], key: str = "") -> None:
        """Take note. What is read again before it was written counts once more."""
        with self._lock:
            if key:
                self._keys[namespace] = key
            waiting = self._waiting.setdefault(namespace, {})
            for memory_id, (count, last, stability) in usage.items():
                before = waiting.get(memory_id)
                if before is not None:
                    count, last = max(count, before[0] + 1), max(last, before[1])
                waiting[memory_id] = (count, last, stability)

    @contextmanager
    def written(self, session: Session, namespace: str) -> Iterator[None]:
        """Write what waits into the open transaction; unless the block ends well, it waits on."""
        with self._lock:
            taken = self._waiting.pop(namespace, {})
        try:
            session.many("memory.add_usage", [_row(namespace, one, usage) for one, usage in taken.items()])
            yield
        except BaseException:
            with self._lock:
                self._waiting[namespace] = taken | self._waiting.get(namespace, {})
            raise
        with self._lock:
            if namespace not in self._waiting:
                self._keys.pop(namespace, None)  # a server meets very many namespaces


def _row(namespace: str, memory_id: str, usage: Usage) -> dict[str, object]:
    count, last, stability = usage
    return {
        "ns": number_of(namespace),
        "id": memory_id,
        "access_count": count,
        "last_accessed_at": iso(last),
        "stability": stability,
    }
