"""The cached matrices of namespaces, within a memory limit."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wellkept.storage.vectors.index import Space


class VectorIndex:
    """One matrix per namespace, created at its first search.

    Args:
        max_bytes: Limit over all namespaces; above it, the least recently used matrices are dropped. A matrix in use
            is never dropped, and the last one used stays whatever its size.
    """

    def __init__(self, *, max_bytes: int = 1 << 30) -> None:
        self._max_bytes = max_bytes
        self._spaces: OrderedDict[str, Space] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._total = 0
        self._in_use: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Memory of all matrices in bytes, each measured at its last use."""
        return self._total

    def __contains__(self, namespace: object) -> bool:
        """Whether the namespace has a loaded matrix."""
        with self._lock:
            space = self._spaces.get(namespace) if isinstance(namespace, str) else None
        return space is not None and space.stamp is not None

    @contextmanager
    def use(self, namespace: str) -> Iterator[Space]:
        """The matrix of a namespace, at first empty and without a stamp; it is not dropped within the block."""
        from wellkept.storage.vectors.index import Space

        with self._lock:
            space = self._spaces.get(namespace)
            if space is None:
                space = self._spaces[namespace] = Space()
            self._spaces.move_to_end(namespace)
            self._in_use[namespace] += 1
        try:
            yield space
        finally:
            self._leave(namespace, space)

    @contextmanager
    def use_loaded(self, namespace: str) -> Iterator[Space | None]:
        """The matrix of a namespace if it is loaded; does not count as a use."""
        with self._lock:
            space = self._spaces.get(namespace)
            if space is None or space.stamp is None:
                space = None
            else:
                self._in_use[namespace] += 1
        if space is None:
            yield None
            return
        try:
            yield space
        finally:
            self._leave(namespace, space)

    def clear(self) -> None:
        """Drop every matrix."""
        with self._lock:
            self._spaces.clear()
            self._sizes.clear()
            self._total = 0

    def _leave(self, namespace: str, space: Space) -> None:
        with self._lock:
            self._in_use[namespace] -= 1
            if not self._in_use[namespace]:
                del self._in_use[namespace]
            if self._spaces.get(namespace) is not space:
                return  # everything was dropped in the meantime
            size = space.nbytes
            self._total += size - self._sizes.get(namespace, 0)
            self._sizes[namespace] = size
            if self._total > self._max_bytes:
                self._make_room()

    def _make_room(self) -> None:
        newest = next(reversed(self._spaces))
        for name in [name for name in self._spaces if name != newest and not self._in_use[name]]:
            del self._spaces[name]
            self._total -= self._sizes.pop(name, 0)
            if self._total <= self._max_bytes:
                return
