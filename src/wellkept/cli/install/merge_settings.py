"""One entry into a JSON file that somebody else owns: the rest stays, and what was there is kept beside it.

A file that cannot be understood is refused and not touched: it may be a configuration with comments,
or another program's, and what is written over it would be lost.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wellkept.errors import ConfigError
from wellkept.types.words import Json

_BACKUP = ".backup"
_BY_HAND = "Use --print and add the entry by hand, or name another file with --path"
_MOST_BYTES = 20_000_000
_MOST_BACKUPS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What became of a configuration.

    Attributes:
        path: The file.
        server: The name of the entry.
        entry: What stands there now.
        change: `added`, `replaced`, or `unchanged` when it stood there as it is.
        backup: Where what was there before is kept; empty when there was nothing, or nothing changed.
    """

    path: str
    server: str
    entry: Mapping[str, Json]
    change: str
    backup: str = ""


def merged(config: Mapping[str, Any], key: str, server: str, value: Mapping[str, Json]) -> dict[str, Any]:
    """A configuration with one server more, or with that server as it is to be; nothing else differs.

    What the entry held besides ours, such as variables of the environment, stays.

    Raises:
        ConfigError: The list of servers, or the entry, is not an object.

    Example:
        >>> merged({"theme": "dark"}, "mcpServers", "wellkept", {"command": "wellkept"})
        {'theme': 'dark', 'mcpServers': {'wellkept': {'command': 'wellkept'}}}
    """
    servers = config.get(key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{key} is not an object", where=key, todo=_BY_HAND)
    before = servers.get(server, {})
    if not isinstance(before, dict):
        raise ConfigError(f"{key}.{server} is not an object", where=f"{key}.{server}", todo=_BY_HAND)
    return {**config, key: {**servers, server: {**before, **value}}}


def merge(path: Path, key: str, server: str, value: Mapping[str, Json]) -> Installed:
    """Put a server into a configuration file, which is made if it is not there.

    Args:
        path: The file.
        key: The key that holds the servers by name.
        server: The name of ours.
        value: Its entry.

    Raises:
        ConfigError: The file is no JSON object, or cannot be read; it is as it was.
        StorePathError: It cannot be written; it is as it was.
    """
    from wellkept.engine.base.files import replacing

    raw = _read(path)
    before = {} if raw is None else _object(raw, path)
    try:
        after = merged(before, key, server, value)
    except ConfigError as error:
        raise ConfigError(error.what, where=str(path), todo=error.todo) from error
    entry = after[key][server]
    if raw is not None and after == before:
        return Installed(path=str(path), server=server, entry=entry, change="unchanged")
    known = isinstance(before.get(key), dict) and server in before[key]
    text = _written(after, path)
    backup = "" if raw is None else str(_keep(raw, path))
    if raw is None:
        _make_folder(path)
    with replacing(path) as out:
        out.write(text)
    return Installed(path=str(path), server=server, entry=entry, change="replaced" if known else "added", backup=backup)


def _read(path: Path) -> bytes | None:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError("is not a file", where=str(path), todo="Name another with --path")
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError("is too large for a configuration", where=str(path), todo=_BY_HAND)
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(path), todo="Check the path") from error


def _object(raw: bytes, path: Path) -> dict[str, Any]:
    if not raw.strip():  # some clients make the file empty
        return {}
    try:
        found = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:  # comments, half a file, bytes that are no UTF-8
        raise ConfigError(f"is not JSON: {error}", where=str(path), todo=_BY_HAND) from error
    if not isinstance(found, dict):
        raise ConfigError(f"must hold a JSON object, not a {_kind(found)}", where=str(path), todo=_BY_HAND)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that is given twice would lose one of its values."""
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(name for at, (name, _) in enumerate(pairs) if name in dict(pairs[:at]))
        raise ValueError(f"the key {twice[:80]!r} is given twice")
    return made


def _written(config: Mapping[str, Any], path: Path) -> str:
    try:
        return json.dumps(config, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:  # 1e400 is read as infinite, and written as a word that is no JSON
        raise ConfigError("holds a number that cannot be preserved", where=str(path), todo=_BY_HAND) from error
    except RecursionError as error:
        raise ConfigError("is nested too deeply", where=str(path), todo=_BY_HAND) from error


def _kind(value: object) -> str:
    match value:
        case list():
            return "list"
        case str():
            return "text"
        case None:
            return "null"
        case _:
            return "single value"


def _keep(raw: bytes, path: Path) -> Path:
    """The bytes that were there, in a file of their own; an older backup is never written over."""
    for count in range(1, _MOST_BACKUPS):
        backup = path.with_name(path.name + _BACKUP + ("" if count == 1 else f"-{count}"))
        try:
            with backup.open("xb") as out:
                # It may hold keys of other servers: nobody may read the copy who could not read the file.
                backup.chmod(stat.S_IMODE(path.stat().st_mode))
                out.write(raw)
            return backup
        except FileExistsError:
            if backup.is_file() and backup.stat().st_size == len(raw) and backup.read_bytes() == raw:
                return backup
        except OSError as error:
            raise ConfigError(
                f"no backup can be made: {error.strerror}", where=str(backup), todo="Check the folder"
            ) from error
    raise ConfigError("has too many backups next to it", where=str(path), todo="Delete the ones you do not need")


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"the folder cannot be made: {error.strerror}", where=str(path.parent), todo="Name a file with --path"
        ) from error
