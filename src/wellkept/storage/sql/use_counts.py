"""Usage counts that wait until no other transaction writes in their namespace.

A read never waits for a writer, so counting it does not either. Waiting counts are written with the next write or
count of this process in the namespace, or when the store is closed. A crash loses only counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from wellkept.core.records.codec import iso
from wellkept.storage.port import Usage
from wellkept.storage.sql.connection import Session


class Uses:
    """Unwritten counts by namespace and memory.

    Args:
        named: Gives the parameter of `memory.add_usage` for a namespace.
    """

    def __init__(self, named: Callable[[str], object] = str) -> None:
        self._named = named
        self._lock = threading.Lock()
        self._waiting: dict[str, dict[str, Usage]] = {}
        self._keys: dict[str, str] = {}

    def namespaces(self) -> list[str]:
        """Namespaces with waiting counts."""
        with self._lock:
            return [name for name, waiting in self._waiting.items() if waiting]

    def key(self, namespace: str) -> str:
        """Key of the token that counted last; empty without a token."""
        with self._lock:
            return self._keys.get(namespace, "")

    def add(self, namespace: str, usage: Mapping[str, Usage], key: str = "") -> None:
        """Add counts; a further read of a memory before the write adds one."""
        with self._lock:
            if key:
                self._keys[namespace] = key
            waiting = self._waiting.setdefault(namespace, {})
            for memory_id, (count, last, stability) in usage.items():
                before = waiting.get(memory_id)
                if before is not None:
                    count, last = max(count, before[0] + 1), max(last, before[1])
                waiting[memory_id] = (count, last, stability)

    def drop(self, namespace: str) -> None:
        """Forget the waiting counts of a namespace."""
        with self._lock:
            self._waiting.pop(namespace, None)
            self._keys.pop(namespace, None)

    @contextmanager
    def written(self, session: Session, namespace: str | None = None) -> Iterator[None]:
        """Write the counts of one namespace or of all in the open transaction.

        They are removed only if the block ends without an error.
        """
        with self._lock:
            names = list(self._waiting) if namespace is None else [namespace]
            taken = {name: self._waiting.pop(name, {}) for name in names}
        rows = [self._row(name, one, used) for name, usage in taken.items() for one, used in usage.items()]
        try:
            if rows:
                session.many("memory.add_usage", rows)
            yield
        except BaseException:
            with self._lock:
                for name, usage in taken.items():
                    self._waiting[name] = usage | self._waiting.get(name, {})
            raise
        with self._lock:
            for name in taken.keys() - self._waiting.keys():
                self._keys.pop(name, None)  # a server has many namespaces

    def _row(self, namespace: str, memory_id: str, usage: Usage) -> dict[str, object]:
        count, last, stability = usage
        return {
            "ns": self._named(namespace),
            "id": memory_id,
            "access_count": count,
            "last_accessed_at": iso(last),
            "stability": stability,
        }
