"""Holds a request to the schema that the OpenAPI document shows for it.

Types, required and unknown fields, and the ranges of numbers are looked at by the input models. What the
document says beyond them is looked at here, so that what it calls invalid is refused. Only the words of
JSON schema are known that `narrowing` writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Any, TypeAlias

from wellkept.errors import ContentTooLarge, EmptyContent, InvalidField, InvalidInput, InvalidText
from wellkept.parsing import parsed_toml
from wellkept.server.rest.narrowing import RULES_FORMAT, TEXT, VISIBLE

Schema: TypeAlias = Mapping[str, Any]
Flaw: TypeAlias = tuple[type[InvalidInput], str, str]
"""The error, what is wrong, and where."""
_TODO = "See the operation in /openapi.json"
_SHOWN = 200
_SEEN = frozenset({TEXT["pattern"], VISIBLE["pattern"]})


def check_fields(fields: Mapping[str, Any], schema: Schema) -> None:
    """Refuse fields of which the document says more than their type, and which are not so.

    Args:
        fields: JSON values whose types were looked at.
        schema: Of the object that they are the fields of, with its `$defs`.

    Raises:
        InvalidInput: The first that is not as its schema says, with the class that the library has for it;
            what was given is not repeated.

    Example:
        >>> check_fields({"title": "tea"}, {"properties": {"title": {"type": "string", "maxLength": 5}}})
        >>> check_fields({"title": "too long"}, {"properties": {"title": {"type": "string", "maxLength": 5}}})
        Traceback (most recent call last):
        ...
        wellkept.errors.ContentTooLarge: has more than 5 characters (title). See the operation in /openapi.json.
    """
    for kind, what, where in _of_object(fields, schema, "", schema.get("$defs", {})):
        raise kind(what, where=where[:_SHOWN], todo=_TODO)


def check_text_value(name: str, text: str, schema: Schema) -> None:
    """The same for a single text, such as that of a header.

    Raises:
        InvalidInput: It is not as its schema says.
    """
    for kind, what, where in _of_text(text, schema, name):
        raise kind(what, where=where, todo=_TODO)


def _flaws(value: Any, schema: Schema, where: str, known: Mapping[str, Schema]) -> Iterator[Flaw]:
    """Where something is not as its schema says, and what."""
    if "$ref" in schema:
        schema = known[str(schema["$ref"]).rpartition("/")[2].rpartition(".")[2]]
    if "anyOf" in schema:
        tried = [list(_flaws(value, option, where, known)) for option in schema["anyOf"] if _of_type(value, option)]
        if tried and all(tried):
            yield tried[0][0]
        return
    if "const" in schema and value != schema["const"]:
        yield InvalidField, f"is not {schema['const']!r}", where
    match value:
        case str():
            yield from _of_text(value, schema, where)
        case list():
            yield from _of_list(value, schema, where, known)
        case dict():
            yield from _of_object(value, schema, where, known)
        case int() if value > schema.get("maximum", value):
            yield InvalidField, f"is more than {schema['maximum']}", where
        case _:
            pass


def _of_object(fields: Mapping[str, Any], schema: Schema, where: str, known: Mapping[str, Schema]) -> Iterator[Flaw]:
    parts = schema.get("properties", {})
    for name in schema.get("required", ()) if where else ():
        if name not in fields:
            yield InvalidField, f"has no {name}", where
    for name, value in fields.items():
        if name in parts:
            yield from _part(value, parts[name], f"{where}.{name}" if where else name, known)


def _of_list(items: Sequence[Any], schema: Schema, where: str, known: Mapping[str, Schema]) -> Iterator[Flaw]:
    if len(items) > schema.get("maxItems", len(items)):
        yield InvalidField, f"has more than {schema['maxItems']} items", where
        return
    parts = schema.get("prefixItems") or repeat(schema.get("items", {}))
    for place, (item, part) in enumerate(zip(items, parts, strict=False)):
        yield from _part(item, part, f"{where}.{place}", known)


def _part(value: Any, schema: Schema, where: str, known: Mapping[str, Schema]) -> Iterator[Flaw]:
    """A part of something larger, whose type the input model may have left open."""
    if _of_type(value, schema):
        yield from _flaws(value, schema, where, known)
    else:
        yield InvalidField, f"is no {schema.get('type', 'object')}", where


def _of_text(text: str, schema: Schema, where: str) -> Iterator[Flaw]:
    if len(text) > schema.get("maxLength", len(text)):
        yield ContentTooLarge, f"has more than {schema['maxLength']} characters", where
    elif "not" in schema and (found := _search(schema["not"]["pattern"])(text)):
        held = " ".join(f"U+{ord(character):04X}" for character in found.group())
        yield InvalidText, f"holds {held}, which it must not", where
    elif len(text) < schema.get("minLength", 0) or (schema.get("pattern") in _SEEN and not _matches(text, schema)):
        yield EmptyContent, "is empty", where
    elif not _matches(text, schema):
        yield InvalidField, "does not have the required form", where
    elif schema.get("format") == RULES_FORMAT and _is_empty_toml(text):
        yield InvalidField, "has no rule", where


def _matches(text: str, schema: Schema) -> bool:
    return "pattern" not in schema or _search(schema["pattern"])(text) is not None


def _is_empty_toml(toml: str) -> bool:
    """Whether it can be read and has no key; what cannot be read is left to the library, which says why."""
    try:
        return not parsed_toml(toml)
    except InvalidInput:
        return False


@cache
def _search(pattern: str) -> Callable[[str], re.Match[str] | None]:
    r"""A pattern as ECMA reads it: `$` is the end and nothing else, `\d` is ten digits."""
    return re.compile(re.sub(r"\$(?=\||\Z)", r"\\Z", pattern), re.ASCII).search


_JSON: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def _of_type(value: Any, schema: Schema) -> bool:
    """Whether a value is of the type that a part of a choice describes; a reference is to an object here."""
    if "$ref" in schema:
        return isinstance(value, dict)
    if "type" not in schema:
        return True
    return isinstance(value, _JSON[schema["type"]]) and (schema["type"] == "boolean") == isinstance(value, bool)
