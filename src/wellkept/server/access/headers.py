"""What a header of a request says, read alike by REST and MCP: one name must not mean two namespaces."""

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
    except UnicodeEncodeError:  # whoever made the mapping has decoded it
        return given
    raw = unquote_to_bytes(raw) if escaped else raw
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:  # what headers were written in before UTF-8; every byte is a character there
        return raw.decode("latin-1")


def session_of(headers: Mapping[str, str]) -> str:
    """The conversation that a request names; empty when it names none.

    A name tells one conversation from others and is shown to nobody, so bytes that are no text are a name
    as well: they go by their digest.

    Raises:
        InvalidInput: It is there twice, too long, or an escape hides a control character.

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
