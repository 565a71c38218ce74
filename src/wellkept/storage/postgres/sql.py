"""The SQL files of the backend as named statements and migration steps."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType

from wellkept.storage.sql.statements import named, texts


@cache
def queries() -> MappingProxyType[str, str]:
    """Statements by name, from the files in `statements/`; names are unique."""
    return named(texts(__package__, "statements").values())


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Migrations in order: resulting version and script; the first one creates the store."""
    return tuple((int(name[:4]), text) for name, text in texts(__package__, "migrations").items())


def schema_version() -> int:
    """The schema version that this release creates and reads."""
    return migrations()[-1][0]
