"""What a Citus cluster refuses or answers slowly, found in statements and functions without a cluster.

Each rule was met on a real one. That every statement is bound to one namespace is checked by its plan; see
`test_statements`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg

from wellkept.storage.postgres.server.distribution import BY_NAMESPACE, EVERYWHERE

SPREAD = (*BY_NAMESPACE, *EVERYWHERE)
_NO_COLUMN = re.compile(r"\bSELECT\s+FROM\b", re.IGNORECASE)
_CHANGED = re.compile(r"\b(?:UPDATE|DELETE\s+FROM)\s+(?:ONLY\s+)?wellkept\.(\w+)", re.IGNORECASE)
_FILLED = re.compile(r"\bINSERT\s+INTO\s+wellkept\.(\w+)[^;]*?\bSELECT\b", re.IGNORECASE)
_CALLED = re.compile(r"\b([a-z_][a-z0-9_]*)\s*\(", re.IGNORECASE)
_LITERAL = re.compile(r"'(?:[^']|'')*'")
_BODY = re.compile(r"\$\$.*?\$\$", re.DOTALL)


class Rules:
    """The rules, asked of the catalogue of a database with a store."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        rows = connection.execute("SELECT DISTINCT proname FROM pg_proc WHERE provolatile = 'v'").fetchall()
        self._volatile = {name for (name,) in rows}

    def refused(self, text: str) -> str:
        """Why a cluster would refuse a statement, or split it over servers; empty if it would not."""
        bare = _LITERAL.sub("''", text)
        if _NO_COLUMN.search(bare):
            return "SELECT without a column"
        for table in _CHANGED.findall(bare):
            called = sorted(self._volatile & {name.lower() for name in _CALLED.findall(bare)})
            if table in SPREAD and called:
                return f"{called[0]}() in a change of {table} may give another value on each server"
        for table in _FILLED.findall(bare):
            if table in BY_NAMESPACE:
                return f"rows for {table} come from a query and so by the coordinator, with a two-phase commit"
        return ""

    def functions(self) -> Iterator[str]:
        """What a cluster would refuse of the functions of the store."""
        rows = self._connection.execute(
            """SELECT DISTINCT p.proname, c.relname FROM pg_depend AS d
            JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
            LEFT JOIN pg_type AS t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
            JOIN pg_class AS c ON c.oid = CASE WHEN t.oid IS NULL THEN d.refobjid ELSE t.typrelid END
            WHERE (d.refclassid = 'pg_class'::regclass OR t.typrelid <> 0)
              AND c.relnamespace = 'wellkept'::regnamespace ORDER BY 1, 2"""
        ).fetchall()
        for name, table in rows:
            if re.sub(r"_\d+$", "", table) in SPREAD:
                yield f"{name}() depends on {table}, which then cannot be distributed"
        bodies = self._connection.execute(
            "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'wellkept'::regnamespace ORDER BY 1"
        ).fetchall()
        for name, body in bodies:
            for statement in body.split(";"):
                if told := self.refused(statement):
                    yield f"{name}(): {told}"


def statements_of(script: str) -> list[str]:
    """The statements of a migration, without the bodies of functions, which the catalogue has."""
    plain = "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("--"))
    return [part.strip() for part in _BODY.sub("''", plain).split(";") if part.strip()]
