"""SQL files as named statements."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from types import MappingProxyType

_NAME = re.compile(r"^-- name: (\S+)$", re.MULTILINE)


def named(texts: Iterable[str]) -> MappingProxyType[str, str]:
    """The statements of SQL files by name, without comments; the name is in the comment above each.

    Raises:
        ValueError: Two have the same name.
    """
    found: dict[str, str] = {}
    for text in texts:
        parts = _NAME.split(text)
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise ValueError(f"two statements are called {name!r}")
            # A fragment begins with a space so that it can follow another one.
            found[name] = "\n".join(line for line in body.splitlines() if line.strip() and not line.startswith("--"))
    return MappingProxyType(found)


def texts(package: str, folder: str) -> dict[str, str]:
    """The SQL files of a folder by name, in order."""
    entries = sorted(files(package).joinpath(folder).iterdir(), key=lambda entry: entry.name)
    return {entry.name: entry.read_text(encoding="utf-8") for entry in entries if entry.name.endswith(".sql")}
