"""The setting of a model, and the options in the query of an endpoint's URL: ours are taken out, the rest is sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from wellkept.errors import ConfigError

_Number = TypeVar("_Number", int, float)


def shown(name: str) -> str:
    """An unknown setting, quoted for a message; empty unless it is a plain word.

    A URL without its scheme may hold a password.

    Example:
        >>> shown("minillm"), shown("me:secret@host/v1")
        (" 'minillm'", '')
    """
    return f" {name!r}" if name.replace("-", "").replace("_", "").isalnum() else ""


def options_of(url: str, names: Collection[str], *, what: str) -> tuple[str, dict[str, str]]:
    """The URL without our options, and these options.

    Args:
        url: The URL; it may hold a password, so no message quotes it.
        names: The names of our options.
        what: Name of the endpoint for messages: "the judge's endpoint".

    Raises:
        ConfigError: The URL cannot be read.

    Example:
        >>> options_of("http://localhost/v1?model=m&api-version=3", {"model"}, what="the endpoint")
        ('http://localhost/v1?api-version=3', {'model': 'm'})
    """
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        raise ConfigError(f"the URL of {what} cannot be read") from None
    kept = urlencode([(name, value) for name, value in query if name not in names])
    return urlunsplit((parts.scheme, parts.netloc, parts.path, kept, "")), {
        name: value for name, value in query if name in names
    }


def number(
    options: Mapping[str, str], name: str, default: _Number, read: Callable[[str], _Number], *, where: str
) -> _Number:
    """The value of an option that is a number, or its default.

    Raises:
        ConfigError: The value is not a number.
    """
    try:
        return read(options[name]) if name in options else default
    except ValueError:
        raise ConfigError(f"{name} must be a {'whole ' if read is int else ''}number", where=where) from None


def flag(options: Mapping[str, str], name: str) -> bool:
    """The value of an option that is on or off, by default off."""
    return options.get(name, "").lower() in ("1", "true", "yes")


def options_in(setting: str, names: Collection[str], *, what: str, where: str) -> tuple[Path, dict[str, str]]:
    """The path in a setting such as `nli:PATH?sha256=HEX&longest=N`, and its options.

    Args:
        setting: The setting.
        names: The known options.
        what: The model with its article, for messages: "an NLI judge".
        where: Name of the setting.

    Raises:
        ConfigError: An option is unknown, or there is no path.
    """
    prefix, _, rest = setting.partition(":")
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(options) - set(names))
    if unknown:
        allowed = ", ".join(sorted(names))
        raise ConfigError(f"unknown option of {what}", where=unknown[0], todo=f"Use one of: {allowed}")
    if not path.strip():
        raise ConfigError(f"{what} needs a path", where=where, todo=f"Write {prefix}:PATH")
    return Path(path).expanduser(), options


def output_in(options: Mapping[str, str], name: str, *, where: str) -> int | None:
    """The output that an option names; None if it is not given."""
    return number(options, name, 0, int, where=where) if name in options else None


def seconds_in(options: Mapping[str, str], default: float, *, where: str) -> float:
    """The time limit.

    Raises:
        ConfigError: It is out of range.
    """
    seconds = number(options, "seconds", default, float, where=where)
    if not 0 < seconds <= 600:
        raise ConfigError("seconds must be above 0 and at most 600", where=where)
    return seconds
