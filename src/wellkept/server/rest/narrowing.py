"""Adds constraints of the library to the JSON schemas of the input models.

The models state types; the library decides which characters a text may contain and how large a count may be.
Readers of the OpenAPI document, and generated clients, need these constraints in advance. `conforming` enforces
them, so that the document is neither narrower nor wider than the server.

Character classes list excluded characters, never allowed ones: every script is allowed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel

from wellkept.engine.base.inputs import MAX_COUNT
from wellkept.engine.gate.acts import MAX_REL
from wellkept.types import PLAN_SCHEMA

_PLANES = "".join(chr(plane * 0x10000 + 0xFFFE) + chr(plane * 0x10000 + 0xFFFF) for plane in range(1, 17))
_NEVER = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff" + _PLANES
_LINE_ENDS = r"\t\n\r\u2028\u2029"
_BLANK = r"\t\n\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_UNSEEN = r"\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe0e\ufe0f\ufeff\ufff9-\ufffb"
KEPT: Mapping[str, Any] = {"not": {"pattern": f"[{_NEVER}]"}}
"""No control characters except tab and line ends, and no noncharacters; like `check_text`."""
VISIBLE: Mapping[str, Any] = {"pattern": f"[^{_NEVER}{_BLANK}{_UNSEEN}]", **KEPT}
"""Like `KEPT`, with at least one visible character."""
TEXT: Mapping[str, Any] = {"pattern": f"^[{_BLANK}]*$|[^{_NEVER}{_BLANK}{_UNSEEN}]", **KEPT}
"""Like `VISIBLE`, or empty."""
LINE: Mapping[str, Any] = {
    "pattern": f"[^{_NEVER}{_BLANK}{_UNSEEN}]",
    "not": {"pattern": f"[{_NEVER}{_LINE_ENDS}{_UNSEEN}]"},
}
"""A single line without invisible characters, such as the name of a relation."""
_DAY = (
    r"(?:\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"|(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_HOUR = r"(?:[01]\d|2[0-3])"
MOMENT: Mapping[str, Any] = {
    # The first and last years are excluded, because some of their times are out of range in another zone.
    "pattern": rf"^(?!000[01]|9999){_DAY}(?:[T ]{_HOUR}:[0-5]\d(?::[0-5]\d(?:\.\d{{1,9}})?)?"
    rf"(?:Z|[+-]{_HOUR}:?[0-5]\d)?)?$"
}
"""A day, or a day and time, with or without a zone, such as `2026-03-04T09:30:00Z`."""
RULES_FORMAT = "wellkept-rules"
"""TOML with at least one key, as in docs/consolidation.md; JSON schema cannot express it."""
ANSWERS_FORMAT = "wellkept-answers"
"""Answers to questions, as in docs/operations.md; what they may be depends on the question."""
_ANY_TEXT = frozenset({"FilterFields", "ScopeFields"})
"""Filters accept any text: a text that no memory contains is no error and finds nothing."""
_VISIBLE_NAMES = frozenset({"content", "query", "response"})
_PLACES = frozenset({"after", "before"})
_PLAN: Mapping[str, Any] = {
    "type": "object",
    "required": ["format", "schema", "plan_id", "config_hash", "snapshot", "namespace", "actions"],
    "properties": {
        "format": {"const": "wellkept.plan"},
        "schema": {"const": PLAN_SCHEMA},
        "plan_id": {"type": "string", "minLength": 8, "maxLength": 64},
        "config_hash": {"type": "string", "minLength": 8},
        "snapshot": {"type": "string", "minLength": 8},
        "namespace": {"type": "string"},
        "actions": {"type": "array", "items": {"type": "object"}},
    },
}
"""The constraints of a plan that a schema can state; only the store can check whether a plan is its own."""


def narrow(schema: Any, name: str = "", *, any_text: bool = False) -> None:
    """Add the library's constraints to a schema, in place.

    Args:
        schema: Any part of a schema.
        name: Name of the property that it describes.
        any_text: Whether a text may contain any characters.

    Example:
        >>> part = {"type": "integer", "minimum": 0}
        >>> narrow(part)
        >>> part["maximum"] == MAX_COUNT
        True
    """
    if isinstance(schema, list):
        for item in schema:
            narrow(item, name, any_text=any_text)
        return
    if not isinstance(schema, dict):
        return
    match schema.get("type"):
        case "string":
            _narrow_text(schema, name, any_text=any_text)
        case "integer" if not schema.keys() & {"enum", "const", "maximum", "exclusiveMaximum"}:
            schema["maximum"] = MAX_COUNT
        case "array" if name in _PLACES:
            schema |= {"prefixItems": [{"type": "string", **MOMENT}, {"type": "string"}], "items": False}
            return
        case "object" if name == "plan":
            schema |= _PLAN
            return
        case _:
            pass
    for key in ("anyOf", "oneOf", "allOf", "items"):
        narrow(schema.get(key), name, any_text=any_text)
    for inner, part in schema.get("properties", {}).items():
        narrow(part, inner, any_text=any_text)
    for inner, part in schema.get("$defs", {}).items():
        narrow(part, inner, any_text=inner in _ANY_TEXT)


def _narrow_text(schema: dict[str, Any], name: str, *, any_text: bool) -> None:
    if schema.get("format") == "date-time":
        del schema["format"]  # which excludes days without a time, and times without a zone
        schema |= MOMENT
    elif name == "rules":
        schema["format"] = RULES_FORMAT
    elif name == "question":
        schema |= {"pattern": "^(?:[qQ][1-9][0-9]{0,17})?$"}
    elif name == "text":
        schema["format"] = ANSWERS_FORMAT
    elif name == "rels" or (name == "rel" and schema.get("default")):
        schema |= {"minLength": 1, "maxLength": MAX_REL, **LINE}
    elif not any_text and not schema.keys() & {"enum", "const", "format", "pattern"}:
        schema |= VISIBLE if name in _VISIBLE_NAMES else TEXT


def close_kinds(schema: dict[str, Any], kinds: Collection[str]) -> None:
    """Add the kinds of the policy to a schema, in place."""
    part = schema.get("properties", {}).get("kind", {})
    for option in (part, *part.get("anyOf", ())):
        if option.get("type") == "string":
            option.pop("pattern", None)
            option.pop("maxLength", None)
            option["enum"] = sorted(kinds)


def with_integers(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert numbers such as `2.0` to integers, because JSON has only one type of number.

    Only fields declared as integers are converted; free values such as metadata stay unchanged.
    """
    schema = model.model_json_schema()
    return {
        name: _whole(schema.get("properties", {}).get(name, {}), value, schema.get("$defs", {}))
        for name, value in values.items()
    }


def _whole(schema: Mapping[str, Any], value: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and "integer" in _kinds(schema) else value
    if isinstance(value, dict):
        for option in (schema, *schema.get("anyOf", ())):
            inner = definitions.get(str(option.get("$ref", "")).removeprefix("#/$defs/"))
            if inner is not None:
                known = inner.get("properties", {})
                return {key: _whole(known.get(key, {}), item, definitions) for key, item in value.items()}
    return value


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    """The types of a schema; a closed set of integers has the type integer."""
    found: set[str] = set()
    for option in (schema, *schema.get("anyOf", ())):
        if "type" in option:
            found.add(str(option["type"]))
        elif "enum" in option and all(isinstance(item, int) for item in option["enum"]):
            found.add("integer")
    return found
