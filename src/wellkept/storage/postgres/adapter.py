"""The PostgreSQL backend: many processes, each namespace with one writer at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from wellkept.core.codec import time_from
from wellkept.errors import Busy, EmbedderMismatch, StorageError
from wellkept.storage.matrices import VectorIndex
from wellkept.storage.postgres.failures import Lost, translated
from wellkept.storage.postgres.mending import mend, remake_words
from wellkept.storage.postgres.opening import STORE_LOCK, checked_url, connected, prepare
from wellkept.storage.postgres.reading import ReadTx
from wellkept.storage.postgres.restoring import RestoringTx
from wellkept.storage.postgres.rows import number_of, words_version
from wellkept.storage.postgres.session import Connection, Session, know_vectors
from wellkept.storage.postgres.sql import schema_version
from wellkept.storage.postgres.uses import Usage, Uses
from wellkept.storage.postgres.verifying import against_rows, problems
from wellkept.types import Header

log = logging.getLogger("wellkept")

_MAX_DIM = 16_000
"""What pgvector's type can hold."""


class PostgresStorage:
    """A store in one PostgreSQL database; see `storage.port.Storage`.

    Args:
        url: `postgresql://user@host:port/name`, with whatever else the driver understands. The
            tables are made in the schema `wellkept` when they are not there.
        busy_seconds: How long a writer waits for another one in its namespace before `Busy`.
        connections: Most connections of this process; half of them may write at the same time.
        index_bytes: Bound of the vector matrices kept in memory, over all namespaces.

    Raises:
        StorageError: One of its kinds says why the database cannot be used.

    Example:
        >>> store = PostgresStorage("postgresql://wellkept@127.0.0.1/memory")  # doctest: +SKIP
    """

    def __init__(
        self, url: str, *, busy_seconds: float = 30.0, connections: int = 16, index_bytes: int = 1 << 30
    ) -> None:
        self._conninfo, self._where = checked_url(url)
        self._busy_seconds = busy_seconds
        self._index = VectorIndex(max_bytes=index_bytes)
        self._uses = Uses()
        self._closed = False
        self._model: int | None = None
        self._told = False
        self._connections = max(2, connections)
        # Writers that wait for each other must leave connections for those who only read.
        self._writers = threading.BoundedSemaphore(self._connections // 2)
        self._writing = threading.local()
        first = connected(self._conninfo, self._where)
        try:
            session = Session(first, self._where)
            oid = prepare(session)
            self._refresh_words(session)
        finally:
            first.close()
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            self._conninfo,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=self._connections,
            timeout=busy_seconds,
            configure=lambda connection: know_vectors(connection, oid),
            num_workers=1,
            open=True,
        )

    # ---- connections ----

    @contextmanager
    def _begun(self, name: str) -> Iterator[Session]:
        """A connection inside a transaction; what is still open at the end is rolled back.

        A connection that died while nobody used it is noticed by its first statement. Nothing has
        happened then, so another one is taken, as often as there can be dead ones.
        """
        session = None
        for _ in range(self._connections + 1):
            session = self._taken()
            try:
                session.run(name)
                break
            except Lost:
                self._pool.putconn(session.connection)
                session = None
            except BaseException:
                self._pool.putconn(session.connection)
                raise
        if session is None:
            raise Lost("the connection to the server was lost", where=self._where, todo="Repeat the call as it is")
        try:
            yield session
        finally:
            session.rollback()
            self._pool.putconn(session.connection)

    @contextmanager
    def _beside(self) -> Iterator[Session]:
        """A connection outside the pool: whoever holds one of the pool and waits for another could wait forever."""
        connection = connected(self._conninfo, self._where)
        try:
            yield Session(connection, self._where)
        finally:
            connection.close()

    def _taken(self) -> Session:
        if self._closed:
            raise self._is_closed()
        try:
            return Session(self._pool.getconn(), self._where)
        except PoolClosed as error:
            raise self._is_closed() from error
        except PoolTimeout as error:
            connected(self._conninfo, self._where).close()  # says why when the server cannot be reached
            raise Busy("no connection was free", where=self._where, todo="Repeat the call as it is") from error

    @contextmanager
    def _write(self) -> Iterator[Session]:
        """A connection inside a writing transaction, with the store's lock shared; errors are ours."""
        if getattr(self._writing, "now", False):
            raise Busy("this thread is already writing", where=self._where, todo="End its transaction first")
        if not self._writers.acquire(timeout=self._busy_seconds):
            raise Busy("too many threads are writing", where=self._where, todo="Repeat the call as it is")
        try:
            self._writing.now = True
            with self._begun("begin.write") as session:
                yield session
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise translated(error, self._where) from error
        finally:
            self._writing.now = False
            self._writers.release()

    def _lock(self, session: Session, name: str) -> None:
        session.row(name, {"wait": f"{max(1, int(self._busy_seconds * 1000))}ms", "store": STORE_LOCK})

    def _is_closed(self) -> StorageError:
        return StorageError("the store is closed", where=self._where, todo="Open it again")

    # ---- the port ----

    def header(self) -> Header:
        """See `Storage.header`."""
        with self._begun("begin.read") as session:
            store_id, embedder, dim, policy, created_at = session.row("header.read")
            names = tuple(name for (name,) in session.rows("namespace.names"))
        return Header(store_id, schema_version(), embedder, dim, policy, time_from(created_at), names)

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """See `Storage.configure`.

        Raises:
            EmbedderMismatch: This embedder was known with another number of dimensions, or has too many.
        """
        now = self.header()
        if (now.embedder, now.dim, now.policy) == (embedder, dim, policy):
            return
        if dim > _MAX_DIM:
            raise EmbedderMismatch(
                f"embedder {embedder!r} makes vectors of {dim} components, pgvector holds {_MAX_DIM}",
                where=self._where,
                todo="Use another embedder, or a file",
            )
        with self._write() as session:
            self._lock(session, "lock.alone")
            session.run("embedder.add", {"embedder": embedder, "dim": dim})
            known = session.row("embedder.known", {"embedder": embedder})[1]
            if known != dim:
                raise EmbedderMismatch(
                    f"embedder {embedder!r} made vectors of {known} components, now {dim}",
                    where=self._where,
                    todo="Give an embedder of another size another id",
                )
            session.run("header.set", {"embedder": embedder, "policy": policy})
            session.run("commit")
        if self._model is not None:
            self.bind(embedder)

    def bind(self, embedder: str) -> None:
        """See `Binding.bind`."""
        with self._begun("begin.read") as session:
            row = session.row("embedder.known", {"embedder": embedder})
        self._model = None if row is None else row[0]
        self._told = False

    def _check_model(self, tx: ReadTx) -> None:
        """Another process may have moved the store to another embedder while it was open here.

        Reading then goes by words alone, and a write that brings a vector is refused: vectors of two
        embedders would be mixed, and with as many components nobody would ever notice (I8, B-1).
        """
        if self._model is None or tx.model == self._model:
            return
        tx.foreign = True
        if not self._told:
            self._told = True
            log.warning("The store was moved to another embedder; open it again with that one. Recall goes by words")

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[ReadTx]:
        """See `Storage.begin`. Writers of two namespaces do not wait for each other.

        Raises:
            Busy: Another writer held the namespace for longer than `busy_seconds`.
        """
        if not write:
            with self._begun("begin.read") as session:
                reading = ReadTx(session, namespace, self._index, self._beside)
                self._check_model(reading)
                yield reading
            return
        with self._write() as session:
            self._lock(session, "lock.share")
            tx = RestoringTx(session, namespace, self._index, self._beside)
            self._check_model(tx)
            yield tx
            tx.finish()
            with self._uses.written(session, namespace):
                session.run("commit")
        tx.committed()

    def count_use(self, namespace: str, usage: Mapping[str, Usage]) -> None:
        """See `Counting.count_use`."""
        self._uses.add(namespace, usage)
        if getattr(self._writing, "now", False):
            return  # its own transaction takes it along
        try:
            self._write_uses(namespace)
        except (Busy, Lost) as error:  # the answer that is being counted is already known
            log.debug("use of %d memories waits to be counted: %s", len(usage), error)

    def _write_uses(self, namespace: str) -> None:
        """Write what waits unless somebody else is writing in the namespace."""
        with self._begun("begin.write") as session:
            if session.row("namespace.try", {"ns": number_of(namespace)}) is not None:
                with self._uses.written(session, namespace):
                    session.run("commit")

    def verify(self) -> list[str]:
        """See `Storage.verify`."""
        with self._begun("begin.read") as session:
            return problems(session)

    def mend(self, *, dry_run: bool) -> list[str]:
        """See `Mending.mend`."""
        if dry_run:
            with self._begun("begin.read") as session:
                return mend(session, dry_run=True)
        with self._write() as session:
            self._lock(session, "lock.alone")
            done = mend(session, dry_run=False)
            session.run("commit")
        if done:
            self._index.clear()  # vectors may have gone, and no entry says so
        return done

    def strayed(self, namespace: str) -> list[str]:
        """See `Mending.strayed`."""
        with self._begun("begin.read") as session:
            return against_rows(session, number_of(namespace))[0]

    def close(self) -> None:
        """See `Storage.close`."""
        if self._closed:
            return
        for namespace in self._uses.namespaces():
            with suppress(StorageError):  # a server that is gone must not keep a store from closing
                self._write_uses(namespace)
        self._closed = True
        self._pool.close()
        self._index.clear()

    # ---- full text ----

    def _refresh_words(self, session: Session) -> None:
        """Make the full text anew when a release makes other terms of the same text."""
        words = words_version()
        if session.row("header.words")[0] == words:
            return
        session.run("begin.write")
        try:
            self._lock(session, "lock.alone")
            remake_words(session)
            session.run("header.set_words", {"words": words})
            session.run("commit")
        finally:
            session.rollback()
