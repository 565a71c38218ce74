"""Spreading the tables of a store over the servers of a Citus cluster, by namespace.

All rows of a namespace lie on one server, whichever table they are in: what a statement asks of one
namespace is answered there, and a transaction in one namespace is a transaction on one server.
Small tables that every statement may look at are copied to all servers. What is asked for over all
namespaces at once and changed by whoever is first stays where the processes connect to.

The tables of a store on one server are divided in partitions. Citus could spread a table with its
partitions, but would then keep sixteen tables for each of its shards, to no use: a shard is the
partition. So plain tables take their place, with the same keys, indexes and rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wellkept.errors import StorageError, StorePathError
from wellkept.storage.postgres.server.opening import STORE_LOCK, checked_url, connected, prepare
from wellkept.storage.postgres.session import Bounds, Session
from wellkept.storage.postgres.sql import queries

OLDEST = (11, 2)
"""From this release of Citus on the servers are told how a transaction was begun, so that a reader has one view."""
OLDEST_VECTORS = (0, 7)

FIRST = "namespace"
BY_NAMESPACE = (
    FIRST, "memory", "words", "vector", "alias", "link", "conflict", "journal", "journal_memory", "approximate",
)  # fmt: skip
"""Tables that are divided by `ns`, all in the same way; the first one says how."""
EVERYWHERE = ("header", "embedder", "migration")
"""Tables of which every server has a copy."""
HERE = ("job", "waiting", "token")
"""Tables that stay where the processes connect to: small ones that are asked for over all namespaces."""

_TAKEN_IN = "_whole"
_CITUS = re.compile(r"\b(\d+)\.(\d+)")


class CannotSpread(StorageError):
    """The database cannot be spread, or is not as it should be after it was; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How a store lies on the servers of a cluster.

    Attributes:
        citus: The release of Citus.
        servers: Host and port of every server that holds rows.
        statements: What was run, or with a dry run would be; empty when all was done before.
        by_namespace: Tables that are divided by namespace.
        everywhere: Tables of which every server has a copy.
        here: Tables that stay on the server one connects to.
        dry_run: Whether nothing was changed.
    """

    citus: str
    servers: tuple[str, ...]
    statements: tuple[str, ...]
    by_namespace: tuple[str, ...]
    everywhere: tuple[str, ...]
    here: tuple[str, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class _Table:
    """A table as the catalogue shows it; `method` is Citus' letter, empty for a table it does not know."""

    name: str
    partitioned: bool
    guarded: bool
    method: str
    column: str
    group: int | None


def distribute(url: str, *, shards: int = 128, dry_run: bool = False) -> Spread:
    """Spread the tables of a store over the servers of the cluster its database belongs to.

    Runs in one transaction that nobody writes beside, with the rows there are. Run again, also after a release that
    adds tables, it does what is missing.

    Args:
        url: The database, on the coordinator.
        shards: In how many parts the rows are divided, for good; a part is what can be moved between servers.
        dry_run: Only say what would be run.

    Returns:
        What was done, and how the tables lie.

    Raises:
        CannotSpread: Citus is missing or too old, a server lacks pgvector, or rules of access are in force.
        StorageError: The database cannot be used, or a server refused a statement.

    Example:
        >>> distribute("postgresql://wellkept@coordinator/memory", dry_run=True).statements  # doctest: +SKIP
    """
    conninfo, where = checked_url(url)
    connection = connected(conninfo, where)
    session = Session(connection, where, bounds=Bounds(lock=60_000))
    try:
        version = _citus(session)
        servers = _servers(session)
        _check_vectors(session)
        if not dry_run:
            prepare(session)
        elif not session.row("opening.state")[1]:
            raise StorePathError("there is no store yet", where=where, todo="Run it without --dry-run; that makes one")
        session.run("begin.read" if dry_run else "begin.write")
        if not dry_run:
            session.row("lock.alone", {"store": STORE_LOCK})
        before = _tables(session)
        statements = tuple(_statements(session, before, shards))
        if not dry_run:
            for statement in statements:
                session.script(statement)
            _check(session, _tables(session))
            session.run("commit")
    finally:
        session.rollback()
        connection.close()
    there = [name for name in (*BY_NAMESPACE, *EVERYWHERE, *HERE) if name in before]
    return Spread(
        citus=version,
        servers=servers,
        statements=statements,
        by_namespace=tuple(name for name in there if name in BY_NAMESPACE),
        everywhere=tuple(name for name in there if name in EVERYWHERE),
        here=tuple(name for name in there if name in HERE),
        dry_run=dry_run,
    )


# ---- what has to be so before ----


def _citus(session: Session) -> str:
    made, there = session.row("spread.installed")
    if not made:
        todo = "Run CREATE EXTENSION citus in it" if there else "Install Citus on every server, or stay with one server"
        raise CannotSpread("the database does not know Citus", where=session.where, todo=todo)
    told = str(session.row("spread.version")[0])
    found = _CITUS.search(told)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise CannotSpread(
            f"Citus is too old: {told[:60]!r}",
            where=session.where,
            todo=f"Upgrade it to {OLDEST[0]}.{OLDEST[1]} or newer on every server",
        )
    return f"{found[1]}.{found[2]}"


def _servers(session: Session) -> tuple[str, ...]:
    rows = session.rows("spread.servers")
    if not any(coordinator for _, coordinator, _ in rows):
        raise CannotSpread(
            "the cluster does not know this server, so that its locks hold on this server only",
            where=session.where,
            todo="Run SELECT citus_set_coordinator_host('its name', its port)",
        )
    servers = tuple(name for name, _, holds in rows if holds)
    if not servers:
        raise CannotSpread(
            "no server of the cluster holds rows", where=session.where, todo="Run SELECT citus_add_node('name', port)"
        )
    return servers


def _check_vectors(session: Session) -> None:
    """A worker without the type of vectors could hold no row; it is named before anything is done."""
    lacking = []
    for server, success, result in session.rows("spread.vectors"):
        version = _CITUS.search(str(result)) if success else None
        if version is None or (int(version[1]), int(version[2])) < OLDEST_VECTORS:
            lacking.append(f"{server} ({str(result)[:60] or 'none'})")
    if lacking:
        raise CannotSpread(
            f"servers without pgvector {OLDEST_VECTORS[0]}.{OLDEST_VECTORS[1]} or newer: {', '.join(lacking)}",
            where=session.where,
            todo="Install it there and run CREATE EXTENSION vector on each",
        )


def _tables(session: Session) -> dict[str, _Table]:
    return {row[0]: _Table(*row) for row in session.rows("spread.tables")}


# ---- what is to be done ----


def _statements(session: Session, tables: dict[str, _Table], shards: int) -> Iterator[str]:
    """What is missing, in order."""
    copied = [name for name in EVERYWHERE if name in tables and not tables[name].method]
    divided = [name for name in BY_NAMESPACE if name in tables and not tables[name].method]
    if not copied and not divided:
        return
    _check_rights(session, [tables[name] for name in (*copied, *divided)])
    if "approximate" in divided and session.row("spread.approximate")[0]:
        raise CannotSpread(
            "namespaces are searched by indexes of their own", where=session.where, todo="Drop them first, see the docs"
        )
    # One connection to each server: what was made in this transaction must be seen by what follows.
    yield _statement("sequential")
    for name in copied:
        yield _statement("copied", name=name)
    for name in divided:
        if tables[name].partitioned:
            yield from _whole(session, name)
        how = f"colocate_with => 'wellkept.{FIRST}'"
        if name == FIRST:
            how = f"colocate_with => 'none', shard_count => {int(shards)}"
        yield _statement("divided", name=name, how=how)
        if session.select(_statement("filled", name=name))[0][0]:
            yield _statement("emptied", name=name)


def _check_rights(session: Session, tables: Sequence[_Table]) -> None:
    guarded = [table.name for table in tables if table.guarded]
    if guarded:
        raise CannotSpread(
            f"rules of access are in force ({', '.join(guarded)}); they go by settings of the transaction, which "
            "the other servers are not told",
            where=session.where,
            todo="Use one server, or let only trusted processes connect and take the rules back",
        )


def _statement(step: str, /, **tables: str) -> str:
    """A statement with names of our own tables written in; a name cannot be bound."""
    return queries()[f"spread.{step}"].format(**tables)


def _whole(session: Session, name: str) -> Iterator[str]:
    """A plain table in the place of one with partitions: rows, keys, indexes and rights under the same names."""
    at = {"table": f"wellkept.{name}"}
    taken = f"{name}{_TAKEN_IN}"
    yield _statement("plain", name=name, taken=taken)
    yield _statement("filled_from", name=name, taken=taken)
    made = [row[0] for part in ("keys", "indexes", "grants") for row in session.rows(f"spread.{part}", at)]
    yield _statement("dropped", name=name)
    yield _statement("renamed", name=name, taken=taken)
    yield from made


# ---- what has to be so afterwards ----


def _check(session: Session, tables: dict[str, _Table]) -> None:
    """Every table lies as it should, and all of a namespace lie together.

    Raises:
        CannotSpread: One does not; the transaction is taken back.
    """
    group = tables[FIRST].group if FIRST in tables else None
    wrong = []
    for name in BY_NAMESPACE:
        table = tables.get(name)
        if table is not None and (table.method, table.column, table.group) != ("h", "ns", group):
            wrong.append(f"{name} is not divided by namespace beside {FIRST}")
    for name in EVERYWHERE:
        if name in tables and tables[name].method != "n":
            wrong.append(f"{name} is not on every server")
    wrong += [f"{name} is not known to be spread or not" for name in tables if name not in _KNOWN]
    wrong += [f"{name} should not be spread" for name in HERE if name in tables and tables[name].method]
    if wrong or group is None:
        raise CannotSpread(
            "; ".join(wrong) or f"{FIRST} is not divided", where=session.where, todo="Nothing was changed; report it"
        )


_KNOWN = frozenset((*BY_NAMESPACE, *EVERYWHERE, *HERE))
