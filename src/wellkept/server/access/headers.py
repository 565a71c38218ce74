"""Parsing of request headers, shared by REST and MCP, so that a name has the same meaning in both."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Protocol, runtime_checkable
from urllib.parse import unquote_to_bytes

from wellkept.engine.base.inputs import label
from wellkept.errors import EmptyContent, InvalidField, InvalidText

NAMESPACE = "Wellkept-Namespace"
SESSION = "Wellkept-Session"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_ASCII_CONTROL = re.compile("[\x00-\x1f\x7f]")


@runtime_checkable
class Repeating(Protocol):
    """Headers that can list repeated values, like those of Starlette."""

    def getlist(self, key: str) -> list[str]:
        """All values of one header."""
        ...


def read_header(headers: Mapping[str, str], name: str, *, escaped: bool = True) -> str | None:
    """Read a header as text: UTF-8, or percent escapes for clients that send only ASCII.

    Args:
        headers: The headers of the request, one character per byte, as HTTP servers pass them. Names are
            case-sensitive if the mapping is.
        name: Name of the header.
        escaped: Whether percent escapes such as `%E5` are decoded.

    Raises:
        InvalidField: The header is repeated, or contains a control character, even as an escape.

    Example:
        >>> read_header({"Wellkept-Namespace": "acme/%E5%BC%A0"}, "Wellkept-Namespace")
        'acme/张'
    """
    given = _given(headers, name)
    if given is None:
        return None
    text = _text(given, escaped=escaped).strip()
    if _CONTROL.search(text):
        raise InvalidField("holds a control character", where=name, todo="Remove it")
    return text


def _given(headers: Mapping[str, str], name: str) -> str | None:
    given = headers.getlist(name) if isinstance(headers, Repeating) else [headers[name]] if name in headers else []
    if len(given) > 1:
        raise InvalidField("is given twice", where=name, todo="Send it once")
    return given[0] if given else None


def _text(given: str, *, escaped: bool) -> str:
    try:
        raw = given.encode("latin-1")
    except UnicodeEncodeError:  # the creator of the mapping has already decoded it
        return given
    raw = unquote_to_bytes(raw) if escaped else raw
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:  # Latin-1, the encoding of headers before UTF-8; it decodes any byte
        return raw.decode("latin-1")


def session_of(headers: Mapping[str, str]) -> str:
    """The session named by a request; empty when it names none.

    A session name only distinguishes sessions and is never shown, so bytes that are not valid text are accepted
    too: their digest is the name.

    Raises:
        InvalidInput: The header is repeated, too long, or contains a control character, even as an escape.

    Example:
        >>> session_of({"Wellkept-Session": "plan%20b"}), len(session_of({"Wellkept-Session": "%FF%FE%80"}))
        ('plan b', 64)
    """
    given = _given(headers, SESSION)
    if given is None:
        return ""
    text = _text(given, escaped=True).strip()
    if _ASCII_CONTROL.search(text):
        raise InvalidField("holds a control character", where=SESSION, todo="Remove it")
    try:
        return label(SESSION, text)
    except (InvalidText, EmptyContent):
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
