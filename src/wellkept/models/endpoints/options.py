"""The setting of a model, and the options in the query of an endpoint's URL: ours are taken out, the rest is sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
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
