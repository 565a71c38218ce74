"""Merges one entry into a JSON file of another program: keeps the rest and makes a backup.

A file that cannot be parsed is rejected and left unchanged: it may contain comments or belong to another
program, and overwriting it would lose its contents.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wellkept.errors import ConfigError
from wellkept.frozen import frozen
from wellkept.types.words import Json

_BACKUP = ".backup"
BY_HAND = "Use --print and add the entry by hand, or name another file with --path"
"""What to do about a file that cannot be changed."""
_MOST_BYTES = 20_000_000
_MOST_BACKUPS = 1_000


@frozen(kw_only=True)
class Installed:
    """The result of merging an entry into a configuration.

    Attributes:
        path: The file.
        server: The name of the entry.
        entry: The entry after the merge.
        change: `added`, `replaced`, `removed`, or `unchanged` when everything was already as requested.
        backup: Path of the copy of the previous file; empty when there was no file or no change.
    """

    path: str
    server: str
    entry: Mapping[str, Json]
    change: str
    backup: str = ""


@frozen(kw_only=True)
class Planned:
    """A change of a file that is worked out and not yet made.

    Attributes:
        path: The file.
        before: Its contents; None when there is none.
        after: Its contents afterwards; None when there is to be none.
    """

    path: Path
    before: bytes | None
    after: bytes | None

    def write(self) -> str:
        """Make the change, after a copy of the file; a file that becomes empty is removed.

        Returns:
            The path of the copy; empty when there is none.

        Raises:
            ConfigError, StorePathError: The file or its copy cannot be written; the file is unchanged.
        """
        from wellkept.engine.base.files import replacing

        if self.after == self.before:
            return ""
        if self.after is None:
            return _removed(self.path)
        if self.before is None:
            _make_folder(self.path)
        backup = "" if self.before is None else str(_keep(self.before, self.path))
        with replacing(self.path) as out:
            out.write(self.after.decode())
        return backup


def planned(path: Path, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Planned:
    """The change of a JSON file; a file that is not there counts as an empty object.

    Args:
        path: The file.
        change: Makes the new object of the old one.

    Raises:
        ConfigError: The file cannot be read, is not a JSON object, or cannot be changed like this.
    """
    raw = read_settings(path)
    before = {} if raw is None else _object(raw, path)
    try:
        after = change(before)
    except ConfigError as error:
        raise ConfigError(error.what, where=str(path), todo=error.todo) from error
    if after == before:
        return Planned(path=path, before=raw, after=raw)
    return Planned(path=path, before=raw, after=_written(after, path).encode() if after else None)


def merged(config: Mapping[str, Any], key: str, server: str, value: Mapping[str, Json]) -> dict[str, Any]:
    """A copy of the configuration in which one server is added or replaced; nothing else differs.

    Other keys of an existing entry, such as environment variables, are kept.

    Raises:
        ConfigError: The list of servers, or the entry, is not an object.

    Example:
        >>> merged({"theme": "dark"}, "mcpServers", "wellkept", {"command": "wellkept"})
        {'theme': 'dark', 'mcpServers': {'wellkept': {'command': 'wellkept'}}}
    """
    servers = table_in(config, key)
    return {**config, key: {**servers, server: {**table_in(servers, server, key), **value}}}


def without(config: Mapping[str, Any], key: str, server: str) -> dict[str, Any]:
    """A copy of the configuration without one server, and without a list of servers that held no other.

    Raises:
        ConfigError: The list of servers is not an object.

    Example:
        >>> without({"mcpServers": {"wellkept": {}, "other": {}}}, "mcpServers", "wellkept")
        {'mcpServers': {'other': {}}}
    """
    servers = table_in(config, key)
    if server not in servers:
        return dict(config)
    left = {name: value for name, value in servers.items() if name != server}
    rest = {name: value for name, value in config.items() if name != key}
    return {**config, key: left} if left else rest


def table_in(config: Mapping[str, Any], key: str, *above: str) -> dict[str, Any]:
    """The object under a key; an empty one when there is none.

    Raises:
        ConfigError: Something else is there.
    """
    found = config.get(key, {})
    if not isinstance(found, dict):
        name = ".".join((*above, key))
        raise ConfigError(f"{name} is not an object", where=name, todo=BY_HAND)
    return found


def read_settings(path: Path) -> bytes | None:
    """The contents of a settings file; None when there is none.

    Raises:
        ConfigError: It is no file, too large, or cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError("is not a file", where=str(path), todo="Name another with --path")
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError("is too large for a configuration", where=str(path), todo=BY_HAND)
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(path), todo="Check the path") from error


def _object(raw: bytes, path: Path) -> dict[str, Any]:
    if not raw.strip():  # some clients create the file empty
        return {}
    try:
        found = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:  # comments, a truncated file, or invalid UTF-8
        raise ConfigError(f"is not JSON: {error}", where=str(path), todo=BY_HAND) from error
    if not isinstance(found, dict):
        raise ConfigError(f"must hold a JSON object, not a {_kind(found)}", where=str(path), todo=BY_HAND)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without duplicate keys; merging would lose one of the values."""
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(name for at, (name, _) in enumerate(pairs) if name in dict(pairs[:at]))
        raise ValueError(f"the key {twice[:80]!r} is given twice")
    return made


def _written(config: Mapping[str, Any], path: Path) -> str:
    try:
        return json.dumps(config, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:  # 1e400 is read as infinity and would be written as `Infinity`, which is not JSON
        raise ConfigError("holds a number that cannot be preserved", where=str(path), todo=BY_HAND) from error
    except RecursionError as error:
        raise ConfigError("is nested too deeply", where=str(path), todo=BY_HAND) from error


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
    """Copy the previous contents to a new file; older backups are never overwritten."""
    for count in range(1, _MOST_BACKUPS):
        backup = path.with_name(path.name + _BACKUP + ("" if count == 1 else f"-{count}"))
        try:
            with backup.open("xb") as out:
                # It may hold keys of other servers, so the copy has the permissions of the file.
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


def _removed(path: Path) -> str:
    try:
        path.unlink()
    except OSError as error:
        raise ConfigError(f"cannot be removed: {error.strerror}", where=str(path), todo="Remove it") from error
    return ""


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"the folder cannot be made: {error.strerror}", where=str(path.parent), todo="Name a file with --path"
        ) from error
