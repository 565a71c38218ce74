"""The SQL files of the backend as named statements and migration steps."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from types import MappingProxyType

SCHEMA_VERSION = 2
APPLICATION_ID = 0x57454C4B
"""Marks a SQLite file as a Wellkept store ("WELK")."""

_NAME = re.compile(r"^-- name: (\S+)$", re.MULTILINE)


@cache
def queries() -> MappingProxyType[str, str]:
    """Statements by name, from `queries.sql`."""
    parts = _NAME.split(_read("queries.sql"))
    return MappingProxyType({name: _bare(text) for name, text in zip(parts[1::2], parts[2::2], strict=True)})


def _bare(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("--")]
    # A fragment begins with a blank so that it can follow another one.
    return "\n".join(lines)


def schema() -> str:
    """The present schema."""
    return _read("schema.sql")


def migrations() -> tuple[tuple[int, str], ...]:
    """Steps in order: the version each leads to, and its script; step N leads from N to N + 1."""
    folder = files(__package__).joinpath("migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((int(name[:4]) + 1, folder.joinpath(name).read_text(encoding="utf-8")) for name in names)


def statements(script: str) -> Iterator[str]:
    """The single statements of a script, so that they can run inside a transaction."""
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
