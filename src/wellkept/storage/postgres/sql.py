"""The SQL files of the backend as named statements and migration steps."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_NAME = re.compile(r"^-- name: (\S+)$", re.MULTILINE)


@cache
def queries() -> MappingProxyType[str, str]:
    """Statements by name, from `queries.sql`."""
    text = files(__package__).joinpath("queries.sql").read_text(encoding="utf-8")
    parts = _NAME.split(text)
    return MappingProxyType({name: _bare(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)})


def _bare(text: str) -> str:
    # A fragment begins with a blank so that it can follow another one.
    return "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith("--"))


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Steps in order: the version each leads to, and its script; the first one makes the store."""
    folder = files(__package__).joinpath("migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((int(name[:4]), folder.joinpath(name).read_text(encoding="utf-8")) for name in names)


def schema_version() -> int:
    """The version this release makes and reads."""
    return migrations()[-1][0]
