"""Findings of `wellkept doctor` about a store, in a file or on a database server. The store is not changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import wellkept
from wellkept.cli.operating.asking_findings import asking_findings
from wellkept.cli.operating.findings import Finding, failed, findings_of
from wellkept.cli.operating.moving_commands import shown as shown_address
from wellkept.cli.terminal.opening import embedder_for, look_at_database, open_database, open_file, open_places
from wellkept.cli.terminal.session import Session
from wellkept.config import Settings, is_server, table_of_places
from wellkept.engine.models.no_embedder import Unloaded
from wellkept.engine.upkeep.verifying import verify
from wellkept.errors import NotPermitted, ReadOnly, WellkeptError
from wellkept.storage.port import Mending, Storage
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.storage.port import Tx
    from wellkept.storage.postgres.server.inspection import ServerFacts, StoreFacts
    from wellkept.types import Header

_SHOWN_PROBLEMS = 5
_UNCHECKED = "was stored while a check could not run"


class _CheckedStorage(Storage, Mending, Protocol):
    """The interface shared by file and database storages."""


class ReadOnlyStorage:
    """A read-only view of a storage: opening a store on it does not even record the policy in the header.

    Args:
        kept: The storage; its opener closes it.
    """

    def __init__(self, kept: _CheckedStorage) -> None:
        self._kept = kept

    def header(self) -> Header:
        """See `Storage.header`."""
        return self._kept.header()

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """Leave the header unchanged."""

    def begin(self, namespace: str, *, write: bool) -> AbstractContextManager[Tx]:
        """See `Storage.begin`.

        Raises:
            ReadOnly: When `write` is set.
        """
        if write:
            raise _read_only()
        return self._kept.begin(namespace, write=False)

    def verify(self) -> list[str]:
        """See `Storage.verify`."""
        return self._kept.verify()

    def mend(self, *, dry_run: bool) -> list[str]:
        """See `Mending.mend`.

        Raises:
            ReadOnly: When `dry_run` is not set.
        """
        if not dry_run:
            raise _read_only()
        return self._kept.mend(dry_run=True)

    def strayed(self, namespace: str) -> list[str]:
        """See `Mending.strayed`."""
        return self._kept.strayed(namespace)

    def close(self) -> None:
        """Leave the storage open."""


def _read_only() -> ReadOnly:
    return ReadOnly("this store is opened read-only", todo="Report this as a bug")


def of_the_store(run: Session, settings: Settings) -> Iterator[Finding]:
    """All findings about the configured store; none is created."""
    if settings.file is not None:
        yield from _in_file(run, settings, settings.file)
    elif is_server(settings.db):
        yield from _in_database(run, settings)
    elif (table := table_of_places(settings.db)) is not None:
        yield from _over_databases(run, settings, table)
    else:
        wellkept._storage(settings.db).close()  # raises for an address without a backend
        yield Finding("store", "ok", f"{shown_address(settings.db)} is neither in a file nor in a database")


# --------------------------------------------------------------------------------------------
# In a file


def _in_file(run: Session, settings: Settings, file: Path) -> Iterator[Finding]:
    if not file.exists():
        yield Finding("store", "ok", f"{file} does not exist yet", "`wellkept remember TEXT` creates it")
        return
    storage = run.closing(open_file(settings, file))
    header = storage.header()
    log = file.with_name(file.name + "-wal")
    sizes = _size(file.stat().st_size)
    sizes = f"{sizes}, log {_size(log.stat().st_size)}" if log.exists() else sizes
    yield Finding("store", "ok", f"{file}: schema {header.schema}, {sizes}, {header.store_id}")
    yield from _content_findings(storage, settings)


# --------------------------------------------------------------------------------------------
# In a database


def _over_databases(run: Session, settings: Settings, table: Path) -> Iterator[Finding]:
    storage = run.closing(open_places(table, make=False))
    header = storage.header()
    names = ", ".join(storage.databases())
    yield Finding("store", "ok", f"{table}: schema {header.schema}, databases {names}, {header.store_id}")
    yield from _content_findings(storage, settings)


def _in_database(run: Session, settings: Settings) -> Iterator[Finding]:
    look = run.closing(look_at_database(settings.db))
    yield Finding("psycopg", "ok", version("psycopg"))
    yield from findings_of("postgresql", lambda: _server(look.server()))
    facts = look.store()
    look.close()  # the server may allow few connections
    place = shown_address(settings.db)
    if facts is None:
        yield Finding("store", "ok", f"{place} holds no store yet", "`wellkept remember TEXT` creates it")
        return
    what = f"{place}: schema {facts.schema}, {_size(facts.size)}, {facts.store_id}"
    if not facts.current:
        yield Finding(
            "store", "warn", f"{what}; it was written by an older release, so its content was not checked",
            "The next command that opens it upgrades it, such as `wellkept stats`",
        )  # fmt: skip
        return
    yield Finding("store", "ok", what)
    yield from _access_and_queues(facts, has_token=bool(settings.token))
    if facts.behind and not settings.token:
        return  # the previous finding reports that nothing is visible
    storage = run.closing(open_database(settings.db, token=settings.token))
    yield from _content_findings(storage, settings)


def _server(facts: ServerFacts) -> Iterator[Finding]:
    from wellkept.storage.postgres.server.inspection import OLDEST_INDEXED, OLDEST_SERVER, OLDEST_VECTORS, is_older

    inside = f"pgvector {facts.vectors}" if facts.vectors else "no pgvector in the database"
    what = f"{facts.version}, {inside}, login {facts.login}" + (", a read-only standby" if facts.standby else "")
    needed = ".".join(map(str, OLDEST_VECTORS))
    wanted = ".".join(map(str, OLDEST_INDEXED))
    install = f"Install the extension `vector`, {wanted} or newer, on the server"
    update = "Run ALTER EXTENSION vector UPDATE" if facts.available != facts.vectors else install
    found = []
    if facts.number < OLDEST_SERVER:
        found.append(Finding("postgresql", "fail", what, f"Use PostgreSQL {OLDEST_SERVER} or newer"))
    if not (facts.vectors or facts.available):
        found.append(Finding("postgresql", "fail", f"{what}, nor on the server", install))
    elif is_older(facts.vectors or facts.available, OLDEST_VECTORS):
        found.append(Finding("postgresql", "fail", f"{what}; {needed} is needed", update if facts.vectors else install))
    elif is_older(facts.vectors, OLDEST_INDEXED):
        found.append(Finding("postgresql", "warn", f"{what}; `wellkept db index` needs {wanted}", update))
    elif not facts.vectors:
        what = f"{what}; the server has {facts.available} for it"
    yield from found or [Finding("postgresql", "ok", what)]


def _access_and_queues(facts: StoreFacts, *, has_token: bool) -> Iterator[Finding]:
    """Access to the store, and the state of its queues."""
    yield _access(facts, has_token=has_token)
    if facts.spread:
        yield Finding("cluster", "ok", "the tables are distributed by namespace; the size above is of this server only")
    if facts.waiting:
        todo = "See `wellkept queue list`" if facts.refused else "`wellkept queue flush` writes them"
        what = count_of(facts.waiting, "write waits", "writes wait") + (
            f", of which {facts.refused} failed before" if facts.refused else ""
        )
        yield Finding("queue", "warn" if facts.refused else "ok", what, todo)
    if facts.failed:
        yield Finding("jobs", "warn", f"{facts.failed} were given up", "See `wellkept jobs list`")


def _access(facts: StoreFacts, *, has_token: bool) -> Finding:
    if not facts.behind:
        above = facts.above and facts.closed
        who = "bypasses all access rules" if above else "owns the store" if facts.owns else "may use all tables"
        rules = "access rules apply to others" if facts.closed else "there are no access rules"
        sees = "with this token sees what it opens" if has_token else "sees all namespaces"
        return Finding("access", "ok", f"this login {who} and {sees}; {rules}")
    if not facts.closed:
        what = "this login may not use all tables, and there are no row-level access rules for it"
        return Finding("access", "warn", what, "Let the owner of the tables run `wellkept db secure --role ROLE`")
    if not has_token:
        what = "this login is subject to the access rules and sees nothing without a token"
        return Finding("access", "warn", what, "Set WELLKEPT_TOKEN")
    what = "this login is subject to the access rules: it sees what its token opens, but no queue and no jobs"
    return Finding("access", "ok", what)


# --------------------------------------------------------------------------------------------
# Both


def _content_findings(storage: _CheckedStorage, settings: Settings) -> Iterator[Finding]:
    yield from findings_of("vectors", lambda: _vectors(storage.header(), settings))
    yield from findings_of("contents", lambda: _contents(storage, settings))


def _vectors(header: Header, settings: Settings) -> Iterator[Finding]:
    wanted = embedder_for(settings, header)
    if header.embedder and header.embedder != wanted.id:
        yield Finding(
            "vectors", "fail", f"come from {header.embedder}, but {wanted.id} is set",
            "Set that embedder, or run `wellkept reembed`",
        )  # fmt: skip
    else:
        yield Finding("vectors", "ok", header.embedder or "none yet")


def _contents(storage: _CheckedStorage, settings: Settings) -> Iterator[Finding]:
    read = ReadOnlyStorage(storage)
    store = wellkept.open(
        read, policy=settings.policy, embedder=Unloaded(read.header()), namespace=settings.namespace,
        relation_model="none",
    )  # fmt: skip
    names = store.namespaces()
    parts = [store.in_namespace(name) for name in names] or [store]
    try:
        yield from _counts(parts, len(names))
        yield from asking_findings(parts, settings.policy.ask)
    except NotPermitted as error:  # then the other findings would be denied too
        yield failed("contents", error)
        return
    except WellkeptError as error:
        yield failed("contents", error)
    yield from findings_of("integrity", lambda: _integrity(parts))


def _counts(parts: list[MemoryStore], names: int) -> Iterator[Finding]:
    counts = [part.stats() for part in parts]
    memories = sum(sum(item.memories.values()) for item in counts)
    entries = sum(item.journal for item in counts)
    held = (count_of(memories, "memory"), count_of(entries, "journal entry"), count_of(names, "namespace"))
    yield Finding("contents", "ok", ", ".join(held))
    late = sum(item.waiting for item in counts)
    if late:
        what = f"{count_of(late, 'memory waits', 'memories wait')} to be judged"
        yield Finding("judging", "warn", what, "Run `wellkept work`; `wellkept sweep` judges once")
    unchecked = sum(item.unchecked for item in counts) - late
    if unchecked:
        what = f"{count_of(unchecked, 'memory was', 'memories were')} stored while a check was unavailable"
        yield Finding("unchecked", "warn", what, "Run `wellkept reembed`")
    waiting = sum(item.open_conflicts for item in counts)
    if waiting:
        yield Finding("conflicts", "warn", f"{waiting} open", "See `wellkept conflicts`")


def _integrity(parts: list[MemoryStore]) -> Iterator[Finding]:
    # The storage as a whole is checked once, independent of its namespaces.
    every = (problem for at, part in enumerate(parts) for problem in verify(part._ctx, whole=at == 0))
    grave = [problem for problem in dict.fromkeys(every) if _UNCHECKED not in problem.what]  # reported above
    if not grave:
        yield Finding("integrity", "ok", "sound")
    for problem in grave[:_SHOWN_PROBLEMS]:
        yield Finding("integrity", "fail", f"{problem.where}: {problem.what}", problem.todo)
    if len(grave) > _SHOWN_PROBLEMS:
        yield Finding("integrity", "fail", f"{len(grave) - _SHOWN_PROBLEMS} more", "Run `wellkept verify`")


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{count / 1000:.1f} kB"
