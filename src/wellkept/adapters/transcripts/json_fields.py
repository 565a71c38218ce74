"""Fields of foreign JSON, each of which may be anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wellkept.core.text.forms import excerpt

_LABEL = 80


def text_at(value: object, *keys: str) -> str:
    """The text below these keys; empty when there is none.

    Example:
        >>> text_at({"author": {"role": "user"}}, "author", "role"), text_at({"author": 5}, "author", "role")
        ('user', '')
    """
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


def at(value: object, *keys: str) -> Any:
    """What stands below these keys; None when there is nothing."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def texts_of_parts(value: object, *types: str) -> str:
    """The text of a message: one text, or the texts of its parts of these types, one a line.

    Example:
        >>> texts_of_parts([{"type": "text", "text": "Hi."}, {"type": "image"}], "text")
        'Hi.'
    """
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    texts = [text_at(part, "text") for part in parts if text_at(part, "type") in types]
    return "\n".join(text for text in texts if text)


def name_of(value: object, otherwise: str) -> str:
    """A name on one line; another text when there is none."""
    plain = " ".join(value.split()) if isinstance(value, str) else ""
    return excerpt(plain, _LABEL) if plain and plain.isprintable() else otherwise
