"""The SQLite backend: one file, many readers, one writer."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from wellkept.core.records.codec import time_from
from wellkept.errors import Busy, StorageError
from wellkept.storage.memory_rows import WORDS_VERSION
from wellkept.storage.port import Usage
from wellkept.storage.sql.embedder import Bound, check_size
from wellkept.storage.sql.use_counts import Uses
from wellkept.storage.sqlite.failures import translated
from wellkept.storage.sqlite.file_length import KnownLength
from wellkept.storage.sqlite.opening import Place, checked_path, place_of, prepare
from wellkept.storage.sqlite.read_transaction import ReadTx
from wellkept.storage.sqlite.session import Session
from wellkept.storage.sqlite.sql import SCHEMA_VERSION
from wellkept.storage.sqlite.write_transaction import WriteTx
from wellkept.storage.vectors.matrices import VectorIndex
from wellkept.types import Header

if TYPE_CHECKING:
    from wellkept.storage.sqlite.copying import Copied

log = logging.getLogger("wellkept")

_IDLE_READERS = 8
_POLL_MS = 4
"""Lock timeout of SQLite itself; longer waits poll. SQLite's own waits grow to 100 ms, so that a process that writes
continuously would starve all others."""


class SqliteStorage(Bound):
    """A store in one SQLite file; see `storage.port.Storage`.

    Args:
        path: The file; created if it does not exist. Its directory must exist.
        durability: "full" syncs every commit to disk, so acknowledged memories survive a power failure. "relaxed" is
            several times faster; a power failure may lose the last commits, but nothing else.
        busy_seconds: Maximum wait of a writer for another one before `Busy`.
        index_bytes: Maximum size of the vector matrices in memory, over all namespaces.

    Raises:
        StorageError: The file cannot be used; the subclass gives the reason.

    Example:
        >>> store = SqliteStorage("memory.db")  # doctest: +SKIP
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Literal["full", "relaxed"] = "full",
        busy_seconds: float = 30.0,
        index_bytes: int = 1 << 30,
    ) -> None:
        super().__init__()
        self._file = checked_path(path)
        self._busy_seconds = busy_seconds
        self._durability = durability
        self._index = VectorIndex(max_bytes=index_bytes)
        self._uses = Uses()
        self._lock = threading.Lock()
        self._writing_thread: int | None = None
        self._readers: list[Session] = []
        self._pool = threading.Lock()
        self._closed = False
        self._wipe = False
        self._embedder: str | None = None
        self._length = KnownLength(self._file)
        self._writer, self._place = self._opened()

    def __repr__(self) -> str:
        return f"SqliteStorage({str(self._file)!r})"

    @property
    def path(self) -> Path:
        """The file."""
        return self._file

    # ---- connections ----

    def _connect(self) -> Session:
        return Session(self._file, busy_seconds=self._busy_seconds)

    def _opened(self) -> tuple[Session, Place]:
        """The writing connection to the created or migrated file, and the file's identity."""
        writer = self._connect()
        try:
            prepare(writer, self._file)
            place = place_of(self._file)
            self._set_up(writer)
            self._refresh_words(writer)
            self._length.forget()
            self._length.grew()
        except BaseException:
            writer.close()
            raise
        return writer, place

    def _follow(self) -> None:
        """Reopen the store if another file has replaced it under the same name.

        A connection stays with the file it opened, even after the file is unlinked, and its writes would be lost.
        Caches belong to the old file, so they are cleared too.
        """
        if self._place == place_of(self._file) or self._writing_thread == threading.get_ident():
            return
        with self._lock:
            place = place_of(self._file)
            if self._closed or self._place == place:
                return
            checked_path(self._file)
            writer, self._place = self._opened()
            with self._pool:
                left, self._readers = [*self._readers, self._writer], []
                self._writer = writer
            for session in left:
                session.close()
            self._index.clear()
            log.warning(
                "Another file was put in the place of %s; what was kept of the former one is forgotten", self._file
            )
        if self._embedder is not None:
            self.bind(self._embedder)

    def _set_up(self, writer: Session) -> None:
        for setting in (
            f"synchronous = {'FULL' if self._durability == 'full' else 'NORMAL'}",
            "foreign_keys = ON",
            "secure_delete = ON",  # erased text must not remain in free pages
            "cache_size = -32768",
            "wal_autocheckpoint = 4000",
            f"busy_timeout = {_POLL_MS}",
        ):
            writer.pragma(setting)

    @contextmanager
    def _reader(self) -> Iterator[Session]:
        """A connection inside a reading transaction, on the current file of the store's name."""
        self._follow()
        with self._snapshot() as session:
            yield session

    @contextmanager
    def _snapshot(self) -> Iterator[Session]:
        """A connection inside a reading transaction, from the pool, without waiting."""
        with self._pool:
            if self._closed:
                raise self._is_closed()
            place = self._place
            session = self._readers.pop() if self._readers else None
        if session is None:
            session = self._connect()
            session.pragma("query_only = ON")
            session.pragma("cache_size = -8192")
        try:
            session.run("begin.read")
            yield session
        finally:
            session.rollback()
            self._give_back(session, place)

    def _give_back(self, session: Session, place: Place) -> None:
        with self._pool:
            if not self._closed and place == self._place and len(self._readers) < _IDLE_READERS:
                self._readers.append(session)
                return
        session.close()

    @contextmanager
    def _write(self) -> Iterator[Session]:
        """The writing connection inside a transaction that excludes all other writers."""
        me = threading.get_ident()
        if self._writing_thread == me:
            raise Busy("this thread is already writing", where=str(self._file), todo="End its transaction first")
        self._follow()
        if not self._lock.acquire(timeout=self._busy_seconds):
            raise Busy("another thread holds the store", where=str(self._file), todo="Repeat the call as it is")
        try:
            if self._closed:
                raise self._is_closed()
            self._writing_thread = me
            self._begin_writing(self._writer)
            try:
                self._length.check()
                yield self._writer
                if self._place != place_of(self._file):
                    todo = "Repeat the call as it is; nothing was written"
                    raise Busy("another file was put in the store's place", where=str(self._file), todo=todo)
                with self._uses.written(self._writer):
                    self._writer.run("commit")
                self._length.grew()
            except BaseException as error:
                self._writer.rollback()
                ours = translated(error, str(self._file)) if isinstance(error, Exception) else error
                if ours is error:
                    raise
                raise ours from error
        finally:
            self._writing_thread = None
            self._lock.release()

    def _begin_writing(self, writer: Session) -> None:
        for _ in range(int(self._busy_seconds * 1000 / _POLL_MS)):
            try:
                writer.run("begin.write")
            except Busy:
                continue
            return
        writer.run("begin.write")

    def _is_closed(self) -> StorageError:
        return StorageError("the store is closed", where=str(self._file), todo="Open it again")

    # ---- the port ----

    def header(self) -> Header:
        """See `Storage.header`."""
        with self._reader() as session:
            store_id, embedder, dim, policy, created_at = session.row("header.read")
            names = tuple(name for (name,) in session.rows("namespace.names"))
        return Header(store_id, SCHEMA_VERSION, embedder, dim, policy, time_from(created_at), names)

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """See `Storage.configure`.

        Raises:
            EmbedderMismatch: The store knows this embedder with another dimension.
        """
        now = self.header()
        if (now.embedder, now.dim, now.policy) == (embedder, dim, policy):
            return
        with self._write() as session:
            session.run("embedder.add", {"embedder": embedder, "dim": dim})
            known = session.row("embedder.dim", {"embedder": embedder})[0]
            check_size(embedder, dim, known=known, where=str(self._file))
            session.run("header.set", {"embedder": embedder, "policy": policy})
        if self._model is not None:
            self.bind(embedder)

    def bind(self, embedder: str) -> None:
        """See `Binding.bind`."""
        self._embedder = embedder
        with self._reader() as session:
            row = session.row("embedder.model", {"embedder": embedder})
        self._model = None if row is None else row[0]
        self._warned.clear()

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[ReadTx]:
        """See `Storage.begin`.

        Raises:
            Busy: Another writer held the store for longer than `busy_seconds`.
        """
        if not write:
            with self._reader() as session:
                reading = ReadTx(session, namespace, self._index, self._snapshot)
                self._check_model(reading)
                yield reading
            return
        with self._write() as session:
            tx = WriteTx(session, namespace, self._index, self._snapshot)
            self._check_model(tx)
            yield tx
        tx.committed()
        if tx.erased or self._wipe:
            self._wipe_log()

    def count_use(self, namespace: str, usage: Mapping[str, Usage]) -> None:
        """See `Counting.count_use`."""
        self._uses.add(namespace, usage)
        if not self._lock.acquire(blocking=False):
            return  # the current writer or the next count writes it
        try:
            if not self._closed:
                self._write_uses()
        finally:
            self._lock.release()

    def _write_uses(self) -> None:
        """Write waiting counts, unless another process is writing."""
        if not self._uses.namespaces():
            return
        try:
            self._writer.run("begin.write")
        except Busy:
            return
        try:
            with self._uses.written(self._writer):
                self._writer.run("commit")
        finally:
            self._writer.rollback()

    def _wipe_log(self) -> None:
        """Checkpoint and truncate the write-ahead log, because it still contains erased text.

        A reader with an older snapshot can prevent this; then the next write tries again.
        """
        with self._lock:
            self._writer.pragma(f"busy_timeout = {min(1000, int(self._busy_seconds * 1000))}")
            self._wipe = bool(self._writer.pragma("wal_checkpoint(TRUNCATE)"))
            self._writer.pragma(f"busy_timeout = {_POLL_MS}")

    def verify(self) -> list[str]:
        """See `Storage.verify`."""
        from wellkept.storage.sqlite.verify import problems

        if self._wipe:
            self._wipe_log()
        with self._reader() as session:
            found = problems(session)
        if self._wipe:
            found.append("the log still holds erased text, since a reader is open; verify again once it is closed")
        return found

    def mend(self, *, dry_run: bool) -> list[str]:
        """See `Mending.mend`."""
        from wellkept.storage.sqlite.repair import mend

        if dry_run:
            with self._reader() as session:
                return mend(session, dry_run=True)
        with self._write() as session:
            done = mend(session, dry_run=False)
        if done:
            self._index.clear()  # vectors may have been removed without a journal entry
        return done

    def strayed(self, namespace: str) -> list[str]:
        """See `Mending.strayed`."""
        from wellkept.storage.sqlite.verify import against_rows

        with self._reader() as session:
            return [memory_id for _, memory_id in against_rows(session, namespace)[0]]

    def backup(self, target: str | os.PathLike[str], *, replace: bool = False) -> Copied:
        """Copy the store to a file while writers continue.

        Args:
            target: The copy; it appears only when it is complete, synced to disk and verified.
            replace: Whether an existing file may be replaced.

        Raises:
            StorePathError, ReadOnly: The target cannot be written.
            Corrupt: The store is damaged; no copy was kept.

        Example:
            >>> SqliteStorage("memory.db").backup("monday.db")  # doctest: +SKIP
        """
        from wellkept.storage.sqlite.copying import backup

        self._follow()
        return backup(self._file, Path(target).absolute(), replace=replace, busy_seconds=self._busy_seconds)

    def close(self) -> None:
        """See `Storage.close`; waits for a running transaction."""
        with self._lock, self._pool:
            if self._closed:
                return
            self._closed = True
            readers, self._readers = self._readers, []
            for session in readers:
                session.close()
            with suppress(StorageError):  # a full or locked disk must not prevent closing
                self._write_uses()
            if self._wipe:
                self._writer.pragma("wal_checkpoint(TRUNCATE)")
            self._writer.close()
        self._index.clear()

    # ---- full text ----

    def _refresh_words(self, writer: Session) -> None:
        """Rebuild the full text if this release extracts other terms."""
        if writer.row("header.words")[0] == WORDS_VERSION:
            return
        from wellkept.storage.sqlite.repair import remake_words

        self._begin_writing(writer)
        try:
            remake_words(writer)
            writer.run("header.set_words", {"words": WORDS_VERSION})
            writer.run("commit")
        except BaseException:
            writer.rollback()
            raise
