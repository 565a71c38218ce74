"""Every statement the product sends to a server, as it is sent, and where the server would look for its rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from wellkept.storage.postgres.session import know_vectors

_KEPT = 3
_WORD = re.compile(r"\b(ns) = '?(-?\d+)'?")
_NUMBER = re.compile(r"'?(-?\d+)'?(?:::bigint)?$")
PLANNED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "MERGE", "VALUES")


@dataclass
class Sent:
    """The sent statements by text: the first and the last bound values of each; and the texts by port."""

    first: dict[str, list[Any]] = field(default_factory=dict)
    last: dict[str, list[Any]] = field(default_factory=dict)
    by_port: dict[int, set[str]] = field(default_factory=dict)

    def take(self, query: Any, parameters: Any, port: int = 0) -> None:
        """Take note of one statement."""
        text = query.decode() if isinstance(query, bytes) else query if isinstance(query, str) else query.as_string()
        first, last = self.first.setdefault(text, []), self.last.setdefault(text, [])
        self.by_port.setdefault(port, set()).add(text)
        values = dict(parameters) if isinstance(parameters, dict) else parameters
        if len(first) < _KEPT:
            first.append(values)
        else:
            last[:] = [*last[-_KEPT:], values]

    def values(self, text: str) -> list[Any]:
        """The values that are kept of a statement."""
        return [*self.first[text], *self.last[text]]


@contextmanager
def listening() -> Iterator[Sent]:
    """Record everything that is sent over connections of this process."""
    sent = Sent()
    kept = [(owner, owner.execute) for owner in (psycopg.Cursor, psycopg.ServerCursor)]
    many = psycopg.Cursor.executemany

    def ours(cursor: Any) -> bool:
        return bool(cursor.connection.info.get_parameters().get("application_name") == "wellkept")

    def heard(execute: Any) -> Any:
        def run(self: Any, query: Any, params: Any = None, **more: Any) -> Any:
            if ours(self):
                sent.take(query, params, self.connection.info.port)
            return execute(self, query, params, **more)

        return run

    def each(self: Any, query: Any, params_seq: Iterable[Any], **more: Any) -> Any:
        given = list(params_seq)
        if ours(self):
            for params in given[:_KEPT]:
                sent.take(query, params, self.connection.info.port)
        return many(self, query, given, **more)

    try:
        for owner, execute in kept:
            owner.execute = heard(execute)  # type: ignore[method-assign]
        psycopg.Cursor.executemany = each  # type: ignore[method-assign]
        yield sent
    finally:
        for owner, execute in kept:
            owner.execute = execute  # type: ignore[method-assign]
        psycopg.Cursor.executemany = many  # type: ignore[method-assign]


@dataclass(frozen=True)
class Look:
    """One place where a plan looks for rows, or puts one.

    Attributes:
        table: The table of the store.
        part: The partition, or the table itself where it has none.
        numbers: Namespaces it is bound to by an equality.
    """

    table: str
    part: str
    numbers: frozenset[int]


class Planner:
    """Asks the server for plans, with the real values bound; nothing is run."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        know_vectors(self._connection)
        rows = self._connection.execute(
            """SELECT c.relname, coalesce(p.relname, c.relname) FROM pg_class AS c
            JOIN pg_namespace AS n ON n.oid = c.relnamespace
            LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid LEFT JOIN pg_class AS p ON p.oid = i.inhparent
            WHERE n.nspname = 'wellkept' AND c.relkind IN ('r', 'p')"""
        )
        self.tables: dict[str, str] = dict(rows.fetchall())

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def looks(self, text: str, values: Any) -> list[Look]:
        """Where a statement looks for rows; `put` rows count too."""
        asked = b"EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) " + text.encode()
        row = self._connection.execute(asked, values).fetchone()
        assert row is not None
        return list(self._of(row[0][0]["Plan"]))

    def part_of(self, table: str, number: int) -> str:
        """The partition that holds the rows of a namespace."""
        row = self._connection.execute(
            f"""SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'wellkept.{table}'::regclass AND satisfies_hash_partition(i.inhparent,
              substring(pg_get_expr(c.relpartbound, c.oid) FROM 'modulus (\\d+)')::int,
              substring(pg_get_expr(c.relpartbound, c.oid) FROM 'remainder (\\d+)')::int, %s::bigint)""".encode(),
            (number,),
        ).fetchone()
        return table if row is None else row[0]

    def _of(self, node: dict[str, Any]) -> Iterator[Look]:
        if node.get("Schema") == "wellkept" and "Relation Name" in node:
            part = node["Relation Name"]
            if node["Node Type"] != "ModifyTable":
                yield Look(self.tables[part], part, frozenset(_bound(node)))
            elif node["Operation"] == "Insert":
                yield Look(self.tables[part], part, frozenset(_put(node)))
        for child in node.get("Plans", ()):
            yield from self._of(child)


def _bound(node: dict[str, Any]) -> Iterator[int]:
    """Numbers to which a scan binds `ns`: in its own conditions, or in those of the index below it."""
    for key in ("Filter", "Index Cond", "Recheck Cond"):
        for _, number in _WORD.findall(str(node.get(key, ""))):
            yield int(number)


def _put(node: dict[str, Any]) -> Iterator[int]:
    """The first inserted value, which is `ns` in every table."""
    below = node["Plans"][0]
    while below["Node Type"] == "Subquery Scan":  # a column that was given another type on its way
        below = below["Plans"][0]
    found = _NUMBER.match(str(below.get("Output", [""])[0]))
    if found:
        yield int(found[1])
