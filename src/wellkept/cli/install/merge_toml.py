"""Merges one entry into a TOML file of another program: changes the lines of its table, and no other line.

The result is parsed and compared with what it should be. So where the lines are written in a way that is not understood
(an inline table, a header inside a text), the file is refused and left unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wellkept.cli.install.merge_settings import BY_HAND, Planned, merged, read_settings, table_in, without
from wellkept.errors import ConfigError
from wellkept.parsing import parsed_toml
from wellkept.types.words import Json

_HEADER = re.compile(r"[ \t]*\[")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def planned_toml(path: Path, key: str, server: str, value: Mapping[str, Json] | None) -> Planned:
    """The change of a TOML file that adds, replaces or removes one server.

    Args:
        path: The file.
        key: The table that holds the servers by name.
        server: The name of the entry.
        value: The entry; None to remove it.

    Raises:
        ConfigError: The file cannot be read, is not TOML, or is written in a way that cannot be changed.
    """
    raw = read_settings(path)
    try:
        text = "" if raw is None else raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8", where=str(path), todo=BY_HAND) from error
    before = parsed_toml(text, where=str(path), todo=BY_HAND, error=ConfigError)
    try:
        after = without(before, key, server) if value is None else merged(before, key, server, value)
    except ConfigError as error:
        raise ConfigError(error.what, where=str(path), todo=error.todo) from error
    if after == before:
        return Planned(path=path, before=raw, after=raw)
    made = _changed(text, key, server, None if value is None else after[key][server])
    try:
        is_right = parsed_toml(made) == _without_empty(after, key)
    except ValueError:
        is_right = False
    if not is_right:
        what = f"writes {key}.{server} in a way that cannot be changed here"
        raise ConfigError(what, where=str(path), todo=BY_HAND)
    return Planned(path=path, before=raw, after=made.encode() if made.strip() else None)


def toml_of(key: str, server: str, value: Mapping[str, Json]) -> str:
    """The entry as a TOML table.

    Example:
        >>> print(toml_of("mcp_servers", "wellkept", {"command": "wellkept", "args": ["mcp"]}), end="")
        [mcp_servers.wellkept]
        command = "wellkept"
        args = ["mcp"]
    """
    return "".join([f"[{key}.{server}]\n", *(f"{_key(name)} = {_value(item)}\n" for name, item in value.items())])


def _changed(text: str, key: str, server: str, value: Mapping[str, Any] | None) -> str:
    """The text with the table of the server replaced, added at the end, or removed with the tables below it."""
    end = "\r\n" if "\r\n" in text else "\n"
    name = rf'{key}[ \t]*\.[ \t]*(?:{server}|"{server}")[ \t]*(?P<rest>\.[^\]\n]*)?'
    own = re.compile(rf"[ \t]*\[[ \t]*{name}\]")
    lines = text.splitlines(keepends=True)
    rests = [found.group("rest") or "" for line in lines if (found := own.match(line))]
    apart = {rest.strip(". \t\"'") for rest in rests}  # keys that are tables of their own
    own_keys = {name: one for name, one in (value or {}).items() if name not in apart}
    table = toml_of(key, server, own_keys).replace("\n", end)
    kept: list[str] = []
    is_done = False
    for is_ours, is_below, part in _tables(lines, own):
        if not is_ours or value is not None and is_below:
            kept += part
            continue
        if value is not None and not is_done:
            kept.append(table)
            is_done = True
        kept += _tail(part)
    made = "".join(kept)
    if value is None:
        return made.removesuffix(end) if made.endswith(2 * end) else made
    if is_done:
        return made
    gap = "" if not made else end if made.endswith("\n") else 2 * end
    return f"{made}{gap}{table}"


def _tables(lines: list[str], own: re.Pattern[str]) -> Iterator[tuple[bool, bool, list[str]]]:
    """The lines in tables: whether a table is the server's or below it, whether it is below it, and its lines."""
    is_ours = is_below = False
    part: list[str] = []
    for line in lines:
        if _HEADER.match(line):
            yield is_ours, is_below, part
            found = own.match(line)
            is_ours, is_below, part = found is not None, found is not None and found.group("rest") is not None, []
        part.append(line)
    yield is_ours, is_below, part


def _tail(part: list[str]) -> list[str]:
    """The lines at the end of a table that belong to what follows: empty ones and comments."""
    at = len(part)
    while at > 1 and (not part[at - 1].strip() or part[at - 1].lstrip().startswith("#")):
        at -= 1
    return part[at:]


def _without_empty(config: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != key or table_in(config, key)}


def _key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            return "{" + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + "}"
        case _:
            raise ConfigError("holds a value that cannot be preserved", todo=BY_HAND)
