"""Row-level security: what one token opens is all that a login without rights of its own can see or change.

The rules rest on something a client cannot make up. Each transaction says which namespace it is in and gives a
key that was made of a token's secret; a function that runs with the owner's rights looks the key up and gives
the number of the namespace, or nothing. So a client who may send SQL of his own can write whatever he likes into
both settings and sees what his token opens. Every rule asks once for each statement, not for each row.

Nothing is closed before `secure` is called. It goes through the catalog, so it covers whatever tables there are,
and a migration that adds one calls it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from wellkept.errors import ConfigError, InvalidField
from wellkept.storage.postgres.sql import queries

if TYPE_CHECKING:
    from wellkept.storage.postgres.session import Session

READ, WRITE, ADMIN = 1, 2, 3
"""What `wellkept.enter` answers; each holds those before it."""
COMMON = frozenset({"header", "embedder", "migration"})
"""Tables without a namespace that everybody reads and only the owner changes. All others are the owner's alone."""
APPEND_ONLY = frozenset({"journal", "journal_memory"})
"""What is once in there is changed by an erasure, or by nobody."""
NAMED = frozenset({"namespace"})
"""Tables that say the name of the namespace beside its number."""
OWNED = frozenset({"job"})
"""Tables with a namespace that are the owner's alone: whoever works for all namespaces goes by what they say."""
_ROLE_BYTES = 63


def secure(session: Session, role: str) -> list[str]:
    """Close every table that holds something of a namespace, and let a role use them under a token.

    To be called by the owner, inside a transaction that holds the store's lock alone. Called again it puts
    right what has changed since.

    Args:
        session: Of the owner of the tables.
        role: The role of applications; made, without a login of its own, where there is none.

    Returns:
        What the caller had no right to do, as sentences for whoever has it.

    Raises:
        InvalidField: No role can be called so.
        ConfigError: The role stands above the rules: it may not be an application's.
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
            # A part is closed as well: it can be named in a statement, and rules are those of the table named.
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
    """Where the store is closed, close what a migration has added, for the same roles."""
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
    """Who sees, adds and changes rows of a table."""
    seen, written = _opened(READ), _opened(WRITE)
    changed = _opened(ADMIN) if table in APPEND_ONLY else written
    if table in NAMED:
        # A row is made for the name that was checked: another one beside this number would be a lie in the list,
        # and whoever works for all namespaces would do in that one what was asked for in this.
        written = changed = sql.Composed([written, _part("isolation.own_name")])
    return {"seen": seen, "written": written, "changed": changed}


def _opened(level: int) -> sql.Composed:
    return _part("isolation.ns").format(level=sql.Literal(level))


def _part(name: str) -> sql.SQL:
    return sql.SQL(queries()[name])  # a statement of ours, from a file


# --------------------------------------------------------------------------------------------
# What tells of rows beside the rows


def _forget_statistics(session: Session, tables: list[str]) -> list[str]:
    """Keep no samples of columns.

    `pg_stats` hides them, but the planner goes by them, and whoever may ask for a plan finds them out: the
    number of rows expected for `subject < 'x'` tells, question by question, what others have written.
    """
    by_table: dict[str, list[str]] = {}
    for table, column, kept in session.rows("isolation.columns", {"tables": tables}):
        if kept:
            by_table.setdefault(table, []).append(column)
    for table, columns in by_table.items():
        for column in columns:
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
    """Nobody makes objects of his own here: a temporary type called `text` would be taken for the real one by
    whoever is given the same connection by a pooler."""
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
    """Run a statement whose names are filled in, each written so that it can only be a name."""
    session.script(_part(name).format(**parts).as_string(session.connection))
