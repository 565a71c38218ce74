"""The SQL files of the backend as named statements and migration steps."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_NAME = re.compile(r"^-- name: (\S+)$", re.MULTILINE)


@cache
def queries() -> MappingProxyType[str, str]:
    """Statements by name, from the files of `statements/`: one for each concern, no name twice."""
    found: dict[str, str] = {}
    for text in _texts("statements").values():
        parts = _NAME.split(text)
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise ValueError(f"two statements are called {name!r}")
            found[name] = _bare(body)
    return MappingProxyType(found)


def _bare(text: str) -> str:
    # A fragment begins with a blank so that it can follow another one.
    return "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith("--"))


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Steps in order: the version each leads to, and its script; the first one makes the store."""
    return tuple((int(name[:4]), text) for name, text in _texts("migrations").items())


def schema_version() -> int:
    """The version this release makes and reads."""
    return migrations()[-1][0]


def _texts(folder: str) -> dict[str, str]:
    """The SQL files of a folder by name, in order."""
    entries = files(__package__).joinpath(folder).iterdir()
    return {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in sorted(entries, key=lambda entry: entry.name)
        if entry.name.endswith(".sql")
    }
