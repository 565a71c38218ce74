"""A storage wrapper that fails at a chosen call, to test atomicity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from wellkept.storage.port import Storage, Tx
from wellkept.types import Header

_TX_CALLS = (
    "find",
    "nearest",
    "match",
    "links",
    "conflicts",
    "journal",
    "vectors",
    "census",
    "asking",
    "outcomes_by_day",
    "entries_with",
    "note_asking",
    "apply",
    "touch",
    "erase",
    "aliases",
    "restore",
)


class FaultyStorage:
    """Counts the calls of the storage port and raises at one of them.

    The end of a write transaction counts as the call `commit`; a failure there rolls back.

    Args:
        inner: The wrapped storage.
        at: Number of the failing call, from 1; 0 for none.
        error: The error to raise.
        only: Names of counted calls; all if empty.

    Attributes:
        calls: Names of the calls so far, in order.

    Example:
        >>> from wellkept.errors import Full
        >>> from wellkept.storage.memory import DictStorage
        >>> broken = FaultyStorage(DictStorage(), at=1, error=Full("no space is left"), only=("apply",))
        >>> broken.header().namespaces
        ()
    """

    def __init__(self, inner: Storage, *, at: int = 0, error: BaseException, only: Sequence[str] = ()) -> None:
        self._inner = inner
        self._at = at
        self._error = error
        self._only = frozenset(only)
        self.calls: list[str] = []

    def fail_at(self, at: int) -> None:
        """Restart counting and fail at this call; 0 disables failures."""
        self._at = at
        self.calls.clear()

    def _count(self, name: str) -> None:
        if self._only and name not in self._only:
            return
        self.calls.append(name)
        if len(self.calls) == self._at:
            raise self._error

    def header(self) -> Header:
        """See `Storage.header`."""
        self._count("header")
        return self._inner.header()

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """See `Storage.configure`."""
        self._count("configure")
        self._inner.configure(embedder=embedder, dim=dim, policy=policy)

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[Tx]:
        """See `Storage.begin`."""
        self._count("begin")
        with self._inner.begin(namespace, write=write) as tx:
            yield _watched(tx, self._count)
            if write:
                self._count("commit")

    def verify(self) -> list[str]:
        """See `Storage.verify`."""
        self._count("verify")
        return self._inner.verify()

    def close(self) -> None:
        """See `Storage.close`; never fails."""
        self._inner.close()


class _WatchedTx:
    """A transaction that counts its method calls."""

    def __init__(self, tx: Tx, count: Callable[[str], None]) -> None:
        self._tx = tx
        self._count = count

    def __getattr__(self, name: str) -> Any:
        if name in _TX_CALLS:
            self._count(name)
        return getattr(self._tx, name)


def _watched(tx: Tx, count: Callable[[str], None]) -> Any:
    return _WatchedTx(tx, count)
