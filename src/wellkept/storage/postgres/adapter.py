"""The PostgreSQL backend: many processes, one writer per namespace at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TypeVar

import psycopg

from wellkept.core.records.codec import time_from
from wellkept.errors import Busy, ConfigError, Elsewhere, EmbedderMismatch, NotPermitted, ReadOnly, StorageError
from wellkept.storage.memory_rows import WORDS_VERSION
from wellkept.storage.port import OPEN, Closed, Insist, Sampled, Usage
from wellkept.storage.postgres import approximate
from wellkept.storage.postgres.failures import Lost, passing, translated, undone
from wellkept.storage.postgres.moves import PostgresMover, alone, closed_to
from wellkept.storage.postgres.read_transaction import ReadTx
from wellkept.storage.postgres.repair import mend, remake_words
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.server.connections import Connections, reads_only
from wellkept.storage.postgres.server.distribution import is_spread
from wellkept.storage.postgres.server.isolation import READ, WRITE, secure
from wellkept.storage.postgres.server.opening import STORE_LOCK, checked_url, connected, prepare
from wellkept.storage.postgres.server.workers import Workers, apart
from wellkept.storage.postgres.session import MOMENT, Bounds, Connection, Session, know_vectors
from wellkept.storage.postgres.shared.job_queue import PostgresJobs
from wellkept.storage.postgres.shared.prepared_vectors import PostgresAhead
from wellkept.storage.postgres.shared.queue_ledger import PostgresLedger
from wellkept.storage.postgres.shared.tokens import TokenTable, key_of
from wellkept.storage.postgres.sql import schema_version
from wellkept.storage.postgres.unanswered_commit import commit
from wellkept.storage.postgres.verify import against_rows, problems
from wellkept.storage.postgres.write_transaction import WriteTx
from wellkept.storage.sql.embedder import Bound, check_size
from wellkept.storage.sql.use_counts import Uses
from wellkept.storage.vectors.matrices import VectorIndex
from wellkept.types import Header

log = logging.getLogger("wellkept")

_PREPARING = Bounds(lock=60_000)
"""For creating or migrating the tables, which waits for all writers."""
_MAX_DIM = 16_000
"""Maximum dimension of pgvector's type."""

_T = TypeVar("_T")


def _once(act: Callable[[], _T], *, kept: Callable[[], int] = int) -> _T:
    """The default of `insist`: a single attempt."""
    return act()


class PostgresStorage(Bound):
    """A store in one PostgreSQL database; see `storage.port.Storage`.

    Args:
        url: `postgresql://user@host:port/name`, with further parameters of the driver. Missing tables are created in
            the schema `wellkept`.
        busy_seconds: Maximum wait for a lock, such as that of another writer of the namespace, before `Busy`.
        statement_seconds: Maximum time of one statement, including waits, before the server cancels it and the call
            raises `Busy`; 0 for no limit. Administration (migrations, `verify`, building an index) has no limit.
        connections: Maximum connections of this process; half of them may write at the same time.
        index_bytes: Maximum size of the vector matrices in memory, over all namespaces.
        token: The secret of a token, for a login that has no access without one; see `isolation`.
        make: Whether to create the store in a database without one.

    Raises:
        NoStore: The database has no store, and `make` is false.
        StorageError: The database cannot be used; the subclass gives the reason.

    Example:
        >>> store = PostgresStorage("postgresql://wellkept@127.0.0.1/memory")  # doctest: +SKIP
    """

    def __init__(
        self,
        url: str,
        *,
        busy_seconds: float = 30.0,
        statement_seconds: float = 120.0,
        connections: int = 16,
        index_bytes: int = 1 << 30,
        token: str = "",
        make: bool = True,
    ) -> None:
        super().__init__()
        self._key = key_of(token) if token else ""
        self._is_view = False
        self._writes_to: Closed | None = None
        self._conninfo, self._where = checked_url(url)
        self.busy_seconds = busy_seconds
        # Administration has no statement limit, but the same lock limit.
        self._unhurried = Bounds(lock=max(1, int(busy_seconds * 1000)))
        self._bounds = replace(self._unhurried, statement=max(0, int(statement_seconds * 1000)))
        self.insist: Insist = _once
        self._has_written = threading.Event()  # shared with the views of `under`
        self._index = VectorIndex(max_bytes=index_bytes)
        self._uses = Uses(number_of)
        self._closed = False
        self._connections = max(2, connections)
        # Writers that wait for each other must leave connections for readers.
        self._writers = threading.BoundedSemaphore(self._connections // 2)
        self._writing = threading.local()
        self._ledger = PostgresLedger(self._begun, self._beside, busy_seconds=busy_seconds)
        first = connected(self._conninfo, self._where)
        try:
            prepare(Session(first, self._where, bounds=_PREPARING), make=make)
            session = Session(first, self._where, bounds=self._unhurried)
            self._pooled = first.prepare_threshold is None
            with session.reading():
                self._behind: bool = session.row("isolation.behind")[0]
                spread = is_spread(session)
                self._bounds = replace(self._bounds, elsewhere=spread)
                coordinator, workers = apart(self._conninfo, session) if spread else (self._conninfo, ())
                is_old = session.row("header.words")[0] != WORDS_VERSION
            if is_old:
                self._refresh_words(session)
            self._pool, *others = [
                Connections(one, self._where, most=self._connections, seconds=busy_seconds)
                for one in (coordinator, *workers)
            ]
            if coordinator == self._conninfo:
                self._pool.adopt(first)
            else:
                first.close()
        except BaseException:
            first.close()
            raise
        self._conninfo = coordinator
        self._workers = Workers(others)

    def __repr__(self) -> str:
        return f"PostgresStorage({self._where!r})"  # without the password of the address

    # ---- connections ----

    @contextmanager
    def _begun(self, name: str, bounds: Bounds | None = None, namespace: str = "") -> Iterator[Session]:
        """A connection inside a transaction; a transaction still open at the end is rolled back.

        The first statement detects a connection that died while idle. Nothing has happened then, so another one is
        taken, up to the number of connections.

        Args:
            name: The statement that begins the transaction.
            bounds: Its time limits.
            namespace: The only namespace that it concerns, which a worker of a cluster may serve.
        """
        session, pool = None, self._pool
        for _ in range(self._connections + 1):
            pool, connection = self._taken(namespace)
            session = Session(connection, self._where, self._key, bounds=bounds or self._bounds)
            try:
                session.run(name)
                if not pool.is_demoted(session.connection):
                    break
                pool.renew()
            except Lost:
                pass
            except BaseException:
                pool.give(session.connection)
                raise
            pool.give(session.connection)
            session = None
        if session is None:
            raise undone(self._where)
        try:
            yield session
        except ReadOnly as error:
            if self._has_written.is_set() and reads_only(session.connection):
                pool.renew()  # they lead to the former primary
                passing(error)
            raise
        finally:
            session.rollback()
            pool.give(session.connection, spoiled=session.spoiled)

    def _taken(self, namespace: str) -> tuple[Connections, Connection]:
        """A connection and its pool; tokens are on the coordinator only."""
        at_worker = self._workers.take(namespace) if namespace and not self._key else None
        return at_worker or (self._pool, self._pool.take())

    @contextmanager
    def _beside(self) -> Iterator[Session]:
        """A connection outside the pool, because a caller that already holds a pooled one could deadlock."""
        connection = connected(self._conninfo, self._where)
        try:
            yield Session(connection, self._where, self._key, bounds=self._unhurried)
        finally:
            connection.close()

    @contextmanager
    def _latest(self, namespace: str) -> Iterator[Session | None]:
        """A second connection on the last committed state of a namespace.

        None behind a pooler, where a caller that already holds a connection could deadlock.
        """
        if self._pooled:
            yield None
            return
        with self._beside() as session:
            with session.reading():
                session.enter(namespace, READ)
                yield session

    # ---- tokens ----

    @property
    def needs_token(self) -> bool:
        """See `Guarded.needs_token`."""
        return self._behind and not self._key

    def under(self, token: str) -> PostgresStorage:
        """See `Guarded.under`; connections, matrices and counts are shared with this object."""
        seen = copy(self)
        seen._key, seen._is_view = key_of(token), True
        seen._ledger = PostgresLedger(seen._begun, seen._beside, busy_seconds=self.busy_seconds)
        return seen

    def tokens(self) -> TokenTable:
        """The tokens of this store."""
        return TokenTable(self._begun, behind=self._behind)

    def secure(self, role: str) -> list[str]:
        """Turn on row-level security: only the owner, and logins of a role with a token, have access.

        Returns:
            Messages about steps that the owner had no right to do.

        Raises:
            InvalidField: The name is not valid for a role.
            ConfigError: The role bypasses row-level security, or the tables are distributed over several servers.
            ReadOnly: The login is not the owner.
        """
        with self._write_alone(self._unhurried) as session:
            if is_spread(session):
                raise ConfigError(
                    "the tables are spread over several servers, and rules of access go by settings that the others "
                    "are not told: nobody would see a row",
                    where=self._where,
                    todo="Let only trusted processes connect, or keep the store on one server",
                )
            return secure(session, role)

    def _require_token(self) -> None:
        if self.needs_token:
            raise NotPermitted(
                "this login sees nothing without a token",
                where=self._where,
                todo="Give one: wellkept.open(url, token=…)",
            )

    @contextmanager
    def _write(self, bounds: Bounds | None = None, namespace: str = "") -> Iterator[Session]:
        """A connection inside a writing transaction with a shared store lock; errors are translated."""
        if getattr(self._writing, "now", False):
            raise Busy("this thread is already writing", where=self._where, todo="End its transaction first")
        if not self._writers.acquire(timeout=self.busy_seconds):
            raise Busy("too many threads are writing", where=self._where, todo="Repeat the call as it is")
        try:
            self._writing.now = True
            with self._begun("begin.write", bounds, namespace) as session:
                yield session
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise translated(error, self._where) from error
        finally:
            self._writing.now = False
            self._writers.release()

    @contextmanager
    def _write_alone(self, bounds: Bounds | None = None) -> Iterator[Session]:
        """As `_write`, while nobody else writes in the store; committed at the end of the block."""
        with self._write(bounds) as session:
            self._lock(session, "lock.alone")
            yield session
            session.run("commit")

    def _lock(self, session: Session, name: str) -> None:
        if name == "lock.share":
            session.put(name, [{"store": STORE_LOCK}])  # it is waited for with the next statement
            return
        session.row(name, {"store": STORE_LOCK})
        session.run("lock.writers")

    # ---- the port ----

    def header(self) -> Header:
        """See `Storage.header`."""
        with self._begun("begin.read") as session:
            header = self._header(session)
            return replace(header, namespaces=tuple(name for (name,) in session.rows("namespace.names")))

    def header_for(self, namespace: str) -> Header:
        """See `Describing.header_for`."""
        with self._begun("begin.read") as session:
            return self._header(session)

    def _header(self, session: Session) -> Header:
        store_id, embedder, dim, policy, created_at = session.row("header.read")
        return Header(store_id, schema_version(), embedder, dim, policy, time_from(created_at), ())

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """See `Storage.configure`.

        Raises:
            EmbedderMismatch: The store knows this embedder with another dimension, or the dimension is too large.
        """
        now = self.header_for("")
        if (now.embedder, now.dim, now.policy) == (embedder, dim, policy):
            return
        if self._behind:
            if now.embedder == embedder:
                return  # the header's policy is informative and only the owner sets it; each process uses its own
            raise NotPermitted(
                "only its owner gives the store an embedder", where=self._where, todo="Let the owner open it once"
            )
        if dim > _MAX_DIM:
            raise EmbedderMismatch(
                f"embedder {embedder!r} makes vectors of {dim} components, pgvector holds {_MAX_DIM}",
                where=self._where,
                todo="Use another embedder, or a file",
            )
        with self._write_alone(self._unhurried) as session:
            session.run("embedder.add", {"embedder": embedder, "dim": dim})
            known = session.row("embedder.known", {"embedder": embedder})[1]
            check_size(embedder, dim, known=known, where=self._where)
            session.run("header.set", {"embedder": embedder, "policy": policy})
        if self._model is not None:
            self.bind(embedder)

    def bind(self, embedder: str) -> None:
        """See `Binding.bind`."""
        with self._begun("begin.read") as session:
            row = session.row("embedder.known", {"embedder": embedder})
        self._model = None if row is None else row[0]
        self._warned.clear()

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[ReadTx]:
        """See `Storage.begin`. Writers of two namespaces do not wait for each other.

        Raises:
            Busy: Another writer held the namespace for longer than `busy_seconds`, or it is being moved.
            Elsewhere: The namespace was moved to another database.
            NotPermitted: The token does not allow this in this namespace, or was revoked.
        """
        self._require_token()
        if not write:
            with self._begun("begin.read", namespace=namespace) as session:
                session.enter(namespace, READ)
                reading = ReadTx(session, namespace, self._index, partial(self._latest, namespace))
                self._refuse_closed(namespace, reading.closed, write=False)
                self._check_model(reading)
                yield reading
            return
        with self._write(namespace=namespace) as session:
            session.enter(namespace, WRITE)
            self._lock(session, "lock.share")
            tx = WriteTx(session, namespace, self._index, partial(self._latest, namespace))
            self._refuse_closed(namespace, tx.closed, write=True)
            self._check_model(tx)
            yield tx
            tx.finish()
            with self._uses.written(session, namespace):
                session.enter(namespace, WRITE)  # after a revocation, statements would silently find no rows
                self._commit(session, tx)
        self._has_written.set()
        self._writing.commits = self.commits() + tx.wrote
        tx.committed()

    def _refuse_closed(self, namespace: str, closed: Closed, *, write: bool) -> None:
        if self._writes_to is not None:
            if write and closed != self._writes_to:
                raise Busy(
                    f"somebody else has moved namespace {namespace!r} meanwhile; nothing was written",
                    where=self._where,
                    todo="Look where it is: wellkept db place NAMESPACE",
                )
            return
        if closed.moved:
            raise Elsewhere(
                f"namespace {namespace!r} lives in database {closed.moved!r}",
                where=self._where,
                todo="Open it by the table of places: --db placement:///path/places.toml",
                database=closed.moved,
            )
        if write and closed.moving:
            raise passing(
                Busy(
                    f"namespace {namespace!r} is being moved to database {closed.moving!r}; nothing was written",
                    where=self._where,
                    todo="Repeat the call; if the move was interrupted, start it again or give it up: "
                    "wellkept db move NAMESPACE --back",
                )
            )

    # ---- moves ----

    def for_moving(self, closed: Closed = OPEN) -> PostgresStorage:
        """See `Closing.for_moving`."""
        seen = copy(self)
        seen._writes_to, seen._is_view = closed, True
        return seen

    def closed(self, namespace: str) -> Closed:
        """See `Closing.closed`."""
        self._require_token()
        with self._begun("begin.read") as session:
            return closed_to(session, namespace)

    @contextmanager
    def alone(self, namespace: str) -> Iterator[PostgresMover]:
        """See `Closing.alone`."""
        self._require_token()
        with self._beside() as session, alone(namespace, session, self._write_beside_others) as mover:
            yield mover

    def _commit(self, session: Session, tx: WriteTx) -> None:
        commit(session, tx.namespace, is_kept=lambda: self.insist(lambda: self._is_kept(tx)), where=self._where)

    def _is_kept(self, tx: WriteTx) -> bool:
        """Whether the newest entry of a transaction is in the journal.

        A writing transaction asks: while the server still works on the lost commit, its lock is held and this waits.
        It also commits, so that a synchronous standby has the entry before the caller gets an answer.
        """
        with self._begun("begin.write") as session:
            session.enter(tx.namespace, WRITE)
            self._lock(session, "lock.share")
            asking = WriteTx(session, tx.namespace, self._index, partial(self._latest, tx.namespace))
            found = asking.has(tx)
            asking.finish()
            try:
                session.run("commit")
            except Lost as lost:  # it changed nothing, so a retry is safe
                raise passing(lost) from lost.__cause__
        return found

    def commits(self) -> int:
        """See `Recovering.commits`."""
        commits: int = getattr(self._writing, "commits", 0)
        return commits

    def count_use(self, namespace: str, usage: Mapping[str, Usage]) -> None:
        """See `Counting.count_use`."""
        self._uses.add(namespace, usage, self._key)
        if getattr(self._writing, "now", False):
            return  # this thread's open transaction writes the counts
        try:
            self._write_uses(namespace)
        except Elsewhere:
            self._uses.drop(namespace)  # it is not here that they will be written
            raise
        except StorageError as error:  # the read itself has succeeded
            if not (error.transient or isinstance(error, Busy | Lost)):
                raise
            log.debug("use of %d memories waits to be counted: %s", len(usage), error)

    def _write_uses(self, namespace: str) -> None:
        """Write waiting counts, unless another transaction writes in the namespace or holds a needed lock."""
        with self._begun("begin.write", MOMENT, namespace) as session:
            session.enter(namespace)
            row = session.row("namespace.try", {"ns": number_of(namespace)})
            if row is not None:
                self._refuse_closed(namespace, Closed(moving=row[0], moved=row[1]), write=True)
                with self._uses.written(session, namespace):
                    session.run("commit")

    def queue(self) -> PostgresJobs:
        """See `Queueing.queue`.

        Raises:
            NotPermitted: The login needs a token; jobs cover all namespaces.
        """
        if self._behind:
            raise NotPermitted("jobs are the owner's", where=self._where, todo="Log in as the owner of the tables")
        return PostgresJobs(self._begun)

    def ahead(self, *, embedder: str, dim: int) -> PostgresAhead:
        """See `Foreseeing.ahead`."""
        with self._begun("begin.read") as session:
            known = session.row("embedder.known", {"embedder": embedder})
        if known is None:
            with self._write_alone() as session:
                session.run("embedder.add", {"embedder": embedder, "dim": dim})
                known = session.row("embedder.known", {"embedder": embedder})
        check_size(embedder, dim, known=known[1], where=self._where)
        return PostgresAhead(known[0], dim, self._begun, self._write_beside_others)

    @contextmanager
    def _write_beside_others(self) -> Iterator[Session]:
        """A writing transaction that excludes migrations and changes of the embedder, but not other writers."""
        with self._write() as session:
            self._lock(session, "lock.share")
            yield session

    def ledger(self) -> PostgresLedger:
        """See `Deferring.ledger`."""
        return self._ledger

    def verify(self) -> list[str]:
        """See `Storage.verify`."""
        self._require_token()
        with self._begun("begin.read", self._unhurried) as session:
            return problems(session)

    def mend(self, *, dry_run: bool) -> list[str]:
        """See `Mending.mend`."""
        self._require_token()
        if dry_run:
            with self._begun("begin.read", self._unhurried) as session:
                return mend(session, dry_run=True)
        with self._write_alone(self._unhurried) as session:
            done = mend(session, dry_run=False)
        if done:
            self._index.clear()  # vectors may have been removed without a journal entry
        return done

    def strayed(self, namespace: str) -> list[str]:
        """See `Mending.strayed`."""
        self._require_token()
        with self._begun("begin.read", self._unhurried) as session:
            session.enter(namespace, READ)
            self._refuse_closed(namespace, closed_to(session, namespace), write=False)
            return against_rows(session, number_of(namespace))[0]

    def approximate(self, namespace: str) -> Sampled:
        """See `Approximating.approximate`."""
        with self._beside() as session:
            know_vectors(session.connection)
            return approximate.built(session, number_of(namespace))

    def exact(self, namespace: str) -> None:
        """See `Approximating.exact`."""
        with self._beside() as session:
            approximate.dropped(session, number_of(namespace))

    def close(self) -> None:
        """See `Storage.close`."""
        if self._closed or self._is_view:
            return
        for namespace in self._uses.namespaces():
            self._key = self._uses.key(namespace) or self._key
            with suppress(StorageError):  # an unreachable server must not prevent closing
                self._write_uses(namespace)
        self._closed = True
        self._pool.close()
        self._workers.close()
        self._index.clear()

    # ---- full text ----

    def _refresh_words(self, session: Session) -> None:
        """Rebuild the full text if this release extracts other terms."""
        with session.writing():
            self._lock(session, "lock.alone")
            remake_words(session)
            session.run("header.set_words", {"words": WORDS_VERSION})
