"""Options in the query of an endpoint's URL: those that are ours are taken out, the rest is sent along."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from wellkept.errors import ConfigError


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
