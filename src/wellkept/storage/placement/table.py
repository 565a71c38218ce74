"""The table of places: which of several databases a namespace lives in.

::

    rest = ["one", "two"]               # share the namespaces without a place, by a hash of the name

    [databases]
    one = "postgresql://wellkept@one.example/memory"
    two = "postgresql://wellkept@two.example/memory"

    [places]
    "acme/" = "two"                     # everything below acme; the longest entry wins
    "acme/ana" = "one"                  # this namespace alone
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from wellkept.errors import ConfigError
from wellkept.frozen import frozen
from wellkept.parsing import parsed_toml

_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
_SERVERS = ("postgresql://", "postgres://")
_KEYS = ("databases", "places", "rest")
MAX_CHARACTERS = 16 << 20
"""Maximum size of the file: about 300,000 places."""


@frozen
class Place:
    """Where a namespace lives.

    Attributes:
        database: The name of the database.
        by: The entry of `places` that says so; empty if the hash of the name does.
    """

    database: str
    by: str = ""


@frozen
class Table:
    """The content of the file.

    Attributes:
        databases: Their addresses by name, in the order of the file; queued writes wait in the first one.
        places: Names of databases by namespace, or by a path that ends in `/` for everything below it.
        rest: The databases that share the namespaces without a place.

    Example:
        >>> table = Table({"one": "postgresql://a/x", "two": "postgresql://b/x"}, {"acme/": "two"}, ("one",))
        >>> table.place_of("acme/ana"), table.place_of("default").database
        (Place(database='two', by='acme/'), 'one')
    """

    databases: Mapping[str, str]
    places: Mapping[str, str]
    rest: tuple[str, ...]

    def place_of(self, namespace: str) -> Place:
        """Its own entry, or else the longest one above it, or else the hash of its name.

        The hash of a name is drawn anew with each database of `rest`, and the largest one wins. So a further database
        takes its share from all others, and nothing else changes its place.
        """
        parts = namespace.split("/")
        for key in (namespace, *("/".join(parts[:end]) + "/" for end in range(len(parts) - 1, 0, -1))):
            if key in self.places:
                return Place(self.places[key], by=key)
        return Place(max(self.rest, key=lambda name: blake2b(f"{name}\n{namespace}".encode()).digest()))

    def with_place(self, key: str, database: str) -> Table:
        """The table with one more, or another, place."""
        return replace(self, places={**self.places, key: database})


def table_from(text: str, *, where: str) -> Table:
    """Read the file.

    Raises:
        ConfigError: It is no TOML, or a name, an address or a place in it is wrong; nothing is guessed.

    Example:
        >>> table_from('[databases]\\none = "agent.db"', where="places.toml")
        Traceback (most recent call last):
        wellkept.errors.ConfigError: database 'one' is no PostgreSQL database (places.toml). ...
    """
    if len(text) > MAX_CHARACTERS:
        raise ConfigError("the table of places is too large", where=where, todo="Use paths that end in /")
    data = parsed_toml(text, where=where, error=ConfigError)
    for key in data:
        if key not in _KEYS:
            raise ConfigError(f"unknown key {key!r}", where=where, todo=f"Use one of: {', '.join(_KEYS)}")
    databases = _addresses(data.get("databases"), where)
    rest = data.get("rest", list(databases))
    if not isinstance(rest, list) or not rest or not all(isinstance(name, str) for name in rest):
        raise ConfigError("rest must be a list of names of databases", where=where, todo='Write rest = ["one"]')
    if len(set(rest)) < len(rest):
        raise ConfigError("rest names a database twice", where=where, todo="Name each once")
    places = _strings(data.get("places", {}), "places", where)
    for key, name in (*(("rest", name) for name in rest), *places.items()):
        _known(name, databases, f"{where}, {key}")
    for key in places:
        if key.startswith("/") or "//" in key or not key.strip("/ "):
            raise ConfigError(f"{key!r} is no path of namespaces", where=where, todo='Write "acme/" or "acme/ana"')
    return Table(databases, places, tuple(rest))


def text_of(table: Table) -> str:
    """The file's text; `table_from` reads it back."""
    lines = ["# Where each namespace lives; `wellkept db place` and `wellkept db move` rewrite this file.", ""]
    lines += [f"rest = {json.dumps(list(table.rest), ensure_ascii=False)}", "", "[databases]"]
    lines += _lines(table.databases.items())
    lines += ["", "[places]", *_lines(sorted(table.places.items()))]
    return "\n".join(lines) + "\n"


def _lines(pairs: Iterable[tuple[str, str]]) -> list[str]:
    # DEL is the one character that a string of JSON may hold and one of TOML may not.
    quoted = [[json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f") for text in pair] for pair in pairs]
    return [f"{key} = {value}" for key, value in quoted]


def _addresses(data: Any, where: str) -> dict[str, str]:
    databases = _strings({} if data is None else data, "databases", where)
    if not databases:
        raise ConfigError("no database is named", where=where, todo="Add [databases] with a line for each")
    named: dict[str, str] = {}
    for name, url in databases.items():
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} is no name of a database", where=where, todo="Use at most 60 letters, digits, _ and -"
            )
        if not url.startswith(_SERVERS):
            raise ConfigError(
                f"database {name!r} is no PostgreSQL database",
                where=where,
                todo="Write postgresql://user@host/name; a table of places holds no other table and no file",
            )
        if url in named:
            raise ConfigError(
                f"databases {named[url]!r} and {name!r} have the same address", where=where, todo="Keep one of them"
            )
        named[url] = name
    return databases


def _strings(data: Any, key: str, where: str) -> dict[str, str]:
    if not isinstance(data, Mapping) or not all(isinstance(value, str) for value in data.values()):
        raise ConfigError(f"{key} must be a table of texts", where=where, todo=f'Write [{key}] and name = "…" below')
    return dict(data)


def _known(name: str, databases: Mapping[str, str], where: str) -> None:
    if name not in databases:
        raise ConfigError(
            f"there is no database {name!r}", where=where, todo=f"Use one of: {', '.join(databases)}, or add it"
        )
