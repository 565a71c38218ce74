"""Distribution of the tables of a store over a Citus cluster, by namespace.

All rows of a namespace are on one server, in all tables. So one server answers the statements of a namespace, and a
transaction in one namespace runs on one server. Small tables that all statements read are replicated to all servers.
Tables that are queried over all namespaces, such as the job queue, stay on the coordinator.

On one server, tables are partitioned. Citus can distribute a partitioned table, but then keeps sixteen tables per
shard, without benefit, because a shard already acts as a partition. So unpartitioned tables replace them, with the
same keys, indexes and rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.errors import StorageError, StorePathError
from wellkept.frozen import frozen
from wellkept.storage.postgres.server.opening import STORE_LOCK, checked_url, connected, prepare
from wellkept.storage.postgres.session import Bounds, Session
from wellkept.storage.postgres.sql import queries

OLDEST = (11, 2)
"""The first release of Citus that passes the transaction's mode to the workers, so that a reader has one snapshot."""
OLDEST_VECTORS = (0, 7)

FIRST = "namespace"
BY_NAMESPACE = (
    FIRST, "memory", "words", "vector", "alias", "link", "conflict", "journal", "journal_memory", "approximate",
)  # fmt: skip
"""Tables distributed by `ns`, co-located with the first one."""
EVERYWHERE = ("header", "embedder", "migration")
"""Tables replicated to every server."""
HERE = ("job", "waiting", "token")
"""Tables that stay on the coordinator: small ones that are queried over all namespaces."""

_TAKEN_IN = "_whole"
_CITUS = re.compile(r"\b(\d+)\.(\d+)")


class CannotSpread(StorageError):
    """The database cannot be distributed, or the check of the result failed; nothing was changed."""


@frozen
class Spread:
    """The distribution of a store over the servers of a cluster.

    Attributes:
        citus: The release of Citus.
        servers: Host and port of every server with rows.
        statements: The executed statements, or in a dry run the planned ones; empty when nothing was missing.
        by_namespace: Tables distributed by namespace.
        everywhere: Tables replicated to every server.
        here: Tables that stay on the coordinator.
        dry_run: Whether nothing was changed.
    """

    citus: str
    servers: tuple[str, ...]
    statements: tuple[str, ...]
    by_namespace: tuple[str, ...]
    everywhere: tuple[str, ...]
    here: tuple[str, ...]
    dry_run: bool


@frozen
class _Table:
    """A table in the catalogue; `method` is the distribution method of Citus, empty for a local table."""

    name: str
    partitioned: bool
    guarded: bool
    method: str
    column: str
    group: int | None


def is_spread(session: Session) -> bool:
    """Whether the tables of the store lie on the servers of a cluster."""
    return bool(session.row("spread.is_known")[0] and session.row("spread.is_spread")[0])


def distribute(url: str, *, shards: int = 128, dry_run: bool = False) -> Spread:
    """Distribute the tables of a store over the servers of its database's cluster.

    Runs in one transaction that excludes writers and moves existing rows. A repeated call, for example after a release
    that adds tables, does only the missing steps.

    Args:
        url: The database, on the coordinator.
        shards: Number of shards, which cannot be changed later; a shard is the unit that moves between servers.
        dry_run: Only return the statements.

    Returns:
        The statements and the resulting distribution.

    Raises:
        CannotSpread: Citus is missing or too old, a server lacks pgvector, or row-level security is on.
        StorageError: The database cannot be used, or a server rejected a statement.

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


# ---- preconditions ----


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
    """Check that every worker has pgvector, before anything is changed."""
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


# ---- statements ----


def _statements(session: Session, tables: dict[str, _Table], shards: int) -> Iterator[str]:
    """The missing statements, in order."""
    copied = [name for name in EVERYWHERE if name in tables and not tables[name].method]
    divided = [name for name in BY_NAMESPACE if name in tables and not tables[name].method]
    if not copied and not divided:
        return
    _check_rights(session, [tables[name] for name in (*copied, *divided)])
    if "approximate" in divided and session.row("spread.approximate")[0]:
        raise CannotSpread(
            "namespaces are searched by indexes of their own", where=session.where, todo="Drop them first, see the docs"
        )
    # One connection per server, so that later statements see what this transaction has created.
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
    """A statement with table names filled in, because names cannot be bound; they never come from input."""
    return queries()[f"spread.{step}"].format(**tables)


def _whole(session: Session, name: str) -> Iterator[str]:
    """Replace a partitioned table by an unpartitioned one with the same rows, keys, indexes, rights and names."""
    at = {"table": f"wellkept.{name}"}
    taken = f"{name}{_TAKEN_IN}"
    yield _statement("plain", name=name, taken=taken)
    yield _statement("filled_from", name=name, taken=taken)
    made = [row[0] for part in ("keys", "indexes", "grants") for row in session.rows(f"spread.{part}", at)]
    yield _statement("dropped", name=name)
    yield _statement("renamed", name=name, taken=taken)
    yield from made


# ---- check of the result ----


def _check(session: Session, tables: dict[str, _Table]) -> None:
    """Check that every table is distributed as declared and that all rows of a namespace are together.

    Raises:
        CannotSpread: A table is not; the transaction is rolled back.
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
