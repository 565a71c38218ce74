"""What a header of a request says, read alike by REST and MCP: one name must not mean two namespaces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol, runtime_checkable
from urllib.parse import unquote_to_bytes

from wellkept.engine.inputs import label
from wellkept.errors import InvalidField

NAMESPACE = "Wellkept-Namespace"
SESSION = "Wellkept-Session"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


@runtime_checkable
class Repeating(Protocol):
    """Headers that tell how often one stands there, as those of Starlette do."""

    def getlist(self, key: str) -> list[str]:
        """All values of a header."""
        ...


def read_header(headers: Mapping[str, str], name: str, *, escaped: bool = True) -> str | None:
    """A header as text: UTF-8, and percent escapes for clients that send ASCII only.

    Args:
        headers: Of the request; each byte one character, as HTTP servers give them. The case of names counts
            where it counts in the mapping.
        name: Of the header.
        escaped: Whether `%E5` stands for a byte.

    Raises:
        InvalidField: It is there twice, or an escape hides a control character, which no header may hold.

    Example:
        >>> read_header({"Wellkept-Namespace": "acme/%E5%BC%A0"}, "Wellkept-Namespace")
        'acme/张'
    """
    given = headers.getlist(name) if isinstance(headers, Repeating) else [headers[name]] if name in headers else []
    if not given:
        return None
    if len(given) > 1:
        raise InvalidField("is there twice", where=name, todo="Send it once")
    text = _text(given[0], escaped=escaped).strip()
    if _CONTROL.search(text):
        raise InvalidField("holds a control character", where=name, todo="Leave it out")
    return text


def _text(given: str, *, escaped: bool) -> str:
    try:
        raw = given.encode("latin-1")
    except UnicodeEncodeError:  # whoever made the mapping has decoded it
        return given
    raw = unquote_to_bytes(raw) if escaped else raw
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:  # what headers were written in before UTF-8; every byte is a character there
        return raw.decode("latin-1")


def session_of(headers: Mapping[str, str]) -> str:
    """The conversation that a request names; empty when it names none.

    Raises:
        InvalidInput: It is there twice, too long, or holds what a text must not.
    """
    return label(SESSION, read_header(headers, SESSION) or "")
