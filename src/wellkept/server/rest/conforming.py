"""Validates requests against the schema published in the OpenAPI document.

The input models check types, required and unknown fields, and ranges of numbers. This module checks the remaining
constraints of the document, so that the server rejects what the document calls invalid. It supports only the
keywords of JSON schema that `narrowing` writes.
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
"""The error class, the problem, and the location."""
_TODO = "See the operation in /openapi.json"
_SHOWN = 200
_SEEN = frozenset({TEXT["pattern"], VISIBLE["pattern"]})


def check_fields(fields: Mapping[str, Any], schema: Schema) -> None:
    """Check the constraints of the document beyond types.

    Args:
        fields: JSON values whose types are already checked.
        schema: The schema of the object with these fields, with its `$defs`.

    Raises:
        InvalidInput: The first violation, in the error class that the library uses for it; the given value is
            not repeated.

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
    """Check a single text, such as that of a header.

    Raises:
        InvalidInput: It violates its schema.
    """
    for kind, what, where in _of_text(text, schema, name):
        raise kind(what, where=where, todo=_TODO)


def _flaws(value: Any, schema: Schema, where: str, known: Mapping[str, Schema]) -> Iterator[Flaw]:
    """Yield the violations of a schema, with their locations."""
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
    """Check a part of a value; the input model may have left its type open."""
    if _of_type(value, schema):
        yield from _flaws(value, schema, where, known)
    else:
        yield InvalidField, f"is not of type {schema.get('type', 'object')}", where


def _of_text(text: str, schema: Schema, where: str) -> Iterator[Flaw]:
    if len(text) > schema.get("maxLength", len(text)):
        yield ContentTooLarge, f"has more than {schema['maxLength']} characters", where
    elif "not" in schema and (found := _search(schema["not"]["pattern"])(text)):
        held = " ".join(f"U+{ord(character):04X}" for character in found.group())
        yield InvalidText, f"contains {held}, which is not allowed", where
    elif len(text) < schema.get("minLength", 0) or (schema.get("pattern") in _SEEN and not _matches(text, schema)):
        yield EmptyContent, "is empty", where
    elif not _matches(text, schema):
        yield InvalidField, "does not have the required form", where
    elif schema.get("format") == RULES_FORMAT and _is_empty_toml(text):
        yield InvalidField, "contains no rule", where


def _matches(text: str, schema: Schema) -> bool:
    return "pattern" not in schema or _search(schema["pattern"])(text) is not None


def _is_empty_toml(toml: str) -> bool:
    """Whether the text is valid TOML without keys; the library reports invalid TOML itself."""
    try:
        return not parsed_toml(toml)
    except InvalidInput:
        return False


@cache
def _search(pattern: str) -> Callable[[str], re.Match[str] | None]:
    r"""Compile a pattern with ECMA semantics: `$` matches only at the end, and `\d` only ASCII digits."""
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
    """Whether a value has the type of one alternative of a choice; a reference means an object here."""
    if "$ref" in schema:
        return isinstance(value, dict)
    if "type" not in schema:
        return True
    return isinstance(value, _JSON[schema["type"]]) and (schema["type"] == "boolean") == isinstance(value, bool)
