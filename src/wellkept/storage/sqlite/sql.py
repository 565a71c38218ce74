"""The SQL files of the backend as named statements and migration steps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from wellkept.storage.sql.statements import named, texts

SCHEMA_VERSION = 4
APPLICATION_ID = 0x57454C4B
"""Marks a SQLite file as a Wellkept store ("WELK")."""


@cache
def queries() -> MappingProxyType[str, str]:
    """Statements by name, from `queries.sql`."""
    return named([_read("queries.sql")])


def schema() -> str:
    """The current schema."""
    return _read("schema.sql")


def migrations() -> tuple[tuple[int, str], ...]:
    """Migrations in order: resulting version and script; script N leads from version N to N + 1."""
    return tuple((int(name[:4]) + 1, script) for name, script in texts(__package__, "migrations").items())


def statements(script: str) -> Iterator[str]:
    """The statements of a script, so that they can run inside one transaction."""
    pending = ""
    for line in script.splitlines():
        if not pending and (not line.strip() or line.lstrip().startswith("--")):
            continue
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        raise ValueError(f"an SQL script ends inside a statement: {pending[:60]!r}")


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
