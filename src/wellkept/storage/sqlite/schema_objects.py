"""Checks that a file has only the schema objects of a store; others, such as triggers, could act on writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeAlias

from wellkept.storage.sqlite.session import Session
from wellkept.storage.sqlite.sql import queries, schema, statements

_Key: TypeAlias = tuple[str, str, str]
_ACTING = ("trigger", "view")
_HARMLESS = ("sqlite_stat", "_litestream_")
"""Name prefixes of harmless tables, created by ANALYZE and by Litestream."""


def acting(session: Session) -> list[str]:
    """Triggers and views, by type and name; a store has none, and a trigger would act on every write."""
    return [f"{kind} {name}" for kind, name, _ in _objects(session.rows("opening.objects")) if kind in _ACTING]


def strangers(session: Session) -> list[str]:
    """Objects that are additional, missing or different compared with the current schema, by type and name.

    Example:
        >>> from pathlib import Path
        >>> strangers(Session(Path(":memory:"), busy_seconds=1))[:2]
        ['index conflict_a', 'index conflict_b']
    """
    found, expected = _objects(session.rows("opening.objects")), _expected()
    extra = {key for key in found if not (key[0] == "table" and key[1].startswith(_HARMLESS))} - expected.keys()
    other = {key for key in expected if found.get(key) != expected[key]}
    return [f"{kind} {name}" for kind, name, _ in sorted(extra | other)]


@cache
def _expected() -> Mapping[_Key, str]:
    with sqlite3.connect(":memory:") as fresh:
        for statement in statements(schema()):
            fresh.execute(statement)
        found = _objects(fresh.execute(queries()["opening.objects"]).fetchall())
    fresh.close()
    return found


def _objects(rows: Iterable[tuple[Any, ...]]) -> dict[_Key, str]:
    """Definitions without white space, because a migrated table may have other line breaks."""
    return {(str(kind), str(name), str(table)): "".join(str(sql).split()) for kind, name, table, sql in rows}
