"""Row-level security: an application login can read and change only the namespaces of its token.

Each transaction sets the namespace and a key that is derived from the token's secret. A function with the owner's
rights looks the key up and returns the number of the namespace, or nothing. A client with its own SQL can put any value
into both settings, but cannot forge a key, so it sees only what its token opens. A policy evaluates the function once
per statement, not per row.

Row-level security is off until `secure` is called. It reads the tables from the catalogue, and a migration that adds
a table calls it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from wellkept.errors import ConfigError, InvalidField
from wellkept.storage.postgres.sql import queries

if TYPE_CHECKING:
    from wellkept.storage.postgres.session import Session

READ, WRITE, ADMIN = 1, 2, 3
"""Access levels returned by `wellkept.enter`; each includes the lower ones."""
COMMON = frozenset({"header", "embedder", "migration"})
"""Tables without a namespace that every login reads and only the owner changes. Other such tables are private to the
owner."""
APPEND_ONLY = frozenset({"journal", "journal_memory"})
"""Tables whose rows change only by erasure."""
NAMED = frozenset({"namespace"})
"""Tables with the name of the namespace beside its number."""
OWNED = frozenset({"job"})
"""Tables with a namespace that are private to the owner, because workers for all namespaces trust their content."""
_ROLE_BYTES = 63


def secure(session: Session, role: str) -> list[str]:
    """Turn on row-level security for all tables with namespaces, and grant a role access by token.

    The owner calls it inside a transaction with the exclusive store lock. A repeated call restores changed settings.

    Args:
        session: A session of the owner of the tables.
        role: The role of applications; created without login if it does not exist.

    Returns:
        Messages about steps that the caller had no right to do.

    Raises:
        InvalidField: The name is not valid for a role.
        ConfigError: The role bypasses row-level security.
    """
    if not role or len(role.encode("utf-8", "replace")) > _ROLE_BYTES or "\0" in role or role.startswith("pg_"):
        raise InvalidField("is not the name of a role", where="role", todo="Use one such as wellkept_app")
    _check(session, role)
    said = sql.Identifier(role)
    _script(session, "isolation.schema", role=said)
    closed = []
    for table, is_part, owner, has_namespace in session.rows("isolation.tables"):
        names = {"table": sql.Identifier(table), "owner": sql.Identifier(owner), "role": said}
        if has_namespace:
            # Partitions too: a statement can name one directly, and then only its own policies apply.
            _script(session, "isolation.close", **names)
            closed.append(table)
        if is_part:
            continue
        if has_namespace:
            _script(session, "isolation.no_policies", **names)
        if has_namespace and table not in OWNED:
            _script(session, "isolation.policies", **names, **_conditions(table))
            _script(session, "isolation.use", **names)
        elif table in COMMON:
            _script(session, "isolation.read", **names)
    return [*_forget_statistics(session, closed), *_take_from_all(session)]


def secure_again(session: Session) -> None:
    """If row-level security is on, extend it to tables that a migration has added, for the same roles."""
    if session.row("isolation.closed") == (True,):
        for (role,) in session.rows("isolation.applications"):
            secure(session, role)


def _check(session: Session, role: str) -> None:
    found = session.row("isolation.role", {"role": role})
    if found is None:
        _script(session, "isolation.new_role", role=sql.Identifier(role))
        return
    above, owns = found
    if above or owns:
        why = (
            "is a superuser or passes by the rules" if above else "is the owner of the tables, or may act as the owner"
        )
        raise ConfigError(f"the role {why}", where=role, todo="Name another one, such as wellkept_app")


def _conditions(table: str) -> dict[str, sql.Composable]:
    """The policy conditions of a table for reading, inserting and changing rows."""
    seen, written = _opened(READ), _opened(WRITE)
    changed = _opened(ADMIN) if table in APPEND_ONLY else written
    if table in NAMED:
        # The name must be the checked one: with a forged name beside this number, a worker for all namespaces would
        # run a request of this namespace in another one.
        written = changed = sql.Composed([written, _part("isolation.own_name")])
    return {"seen": seen, "written": written, "changed": changed}


def _opened(level: int) -> sql.Composed:
    return _part("isolation.ns").format(level=sql.Literal(level))


def _part(name: str) -> sql.SQL:
    return sql.SQL(queries()[name])  # a statement from our own files


# --------------------------------------------------------------------------------------------
# Side channels beside the rows


def _forget_statistics(session: Session, tables: list[str]) -> list[str]:
    """Turn off column statistics.

    `pg_stats` hides them, but the planner uses them, and EXPLAIN reveals them: the estimated row counts for conditions
    such as `subject < 'x'` would show, query by query, the data of other namespaces.
    """
    for table, column, kept in session.rows("isolation.columns", {"tables": tables}):
        if kept:
            _script(session, "isolation.no_statistics", table=sql.Identifier(table), column=sql.Identifier(column))
    for index, _, place, kept in session.rows("isolation.expressions", {"tables": tables}):
        if kept:
            _script(session, "isolation.no_index_statistics", index=sql.Identifier(index), column=sql.Literal(place))
    return _clear_statistics(session, tables)


def _clear_statistics(session: Session, tables: list[str]) -> list[str]:
    readable, clearing = session.row("isolation.may_see_statistics")
    if readable:
        found = session.rows("isolation.statistics", {"tables": tables})
        if found and not clearing:
            session.many("isolation.delete_statistics", [{"table": f"wellkept.{name}"} for name, _, _ in found])
            return []
    elif clearing:
        columns = session.rows("isolation.columns", {"tables": tables})
        found = [(table, column, whole) for table, column, _ in columns for whole in (False, True)]
        expressions = session.rows("isolation.expressions", {"tables": tables})
        found += [(index, column, False) for index, column, _, _ in expressions]
    else:
        return ["Samples of columns that were taken before are still there: let a superuser run this once"]
    session.many(
        "isolation.clear_statistics",
        [{"table": table, "column": column, "inherited": whole} for table, column, whole in found],
    )
    return []


def _take_from_all(session: Session) -> list[str]:
    """Revoke the right to create objects: behind a pooler, a temporary type named `text` would shadow the real one for
    the next client of the same connection."""
    temporary, creating, objects = session.row("isolation.open_to_all") or (False, False, False)
    _, is_super, owns_database, database = session.row("isolation.me")
    left = []
    if temporary or creating:
        if is_super or owns_database:
            _script(session, "isolation.no_temporary", database=sql.SQL(database))
        else:
            left.append(f"Let the database's owner run: REVOKE TEMPORARY, CREATE ON DATABASE {database} FROM PUBLIC")
    if objects:
        if is_super or owns_database:
            _script(session, "isolation.no_objects")
        else:
            left.append("Let the database's owner run: REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    return left


def _script(session: Session, name: str, **parts: sql.Composable) -> None:
    """Run a statement with names filled in as quoted identifiers."""
    session.script(_part(name).format(**parts).as_string(session.connection))
