"""What the library checks beyond the shapes of the input models, told in the words of a JSON schema.

The models say shapes; which characters a text may hold and how large a count may be is decided by the
library. A reader of the OpenAPI document, and a client made from it, should know it beforehand. What is
told here is held to by `conforming`, so that the document is neither narrower nor wider than the server.

Classes of characters name what is left out, never what is allowed: every script is allowed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel

from wellkept.engine.gate.acts import MAX_REL
from wellkept.engine.lookup.read import MAX_COUNT
from wellkept.types import PLAN_SCHEMA

_PLANES = "".join(chr(plane * 0x10000 + 0xFFFE) + chr(plane * 0x10000 + 0xFFFF) for plane in range(1, 17))
_NEVER = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff" + _PLANES
_LINE_ENDS = r"\t\n\r\u2028\u2029"
_BLANK = r"\t\n\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_UNSEEN = r"\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe0e\ufe0f\ufeff\ufff9-\ufffb"
KEPT: Mapping[str, Any] = {"not": {"pattern": f"[{_NEVER}]"}}
"""No control characters but tab and line ends, and no noncharacters: what `check_text` refuses."""
VISIBLE: Mapping[str, Any] = {"pattern": f"[^{_NEVER}{_BLANK}{_UNSEEN}]", **KEPT}
"""The same, with something to be seen."""
TEXT: Mapping[str, Any] = {"pattern": f"^[{_BLANK}]*$|[^{_NEVER}{_BLANK}{_UNSEEN}]", **KEPT}
"""The same, or nothing at all."""
LINE: Mapping[str, Any] = {
    "pattern": f"[^{_NEVER}{_BLANK}{_UNSEEN}]",
    "not": {"pattern": f"[{_NEVER}{_LINE_ENDS}{_UNSEEN}]"},
}
"""One line with nothing hidden in it, as the name of a relation is."""
_DAY = (
    r"(?:\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"|(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_HOUR = r"(?:[01]\d|2[0-3])"
MOMENT: Mapping[str, Any] = {
    # The first and the last years have times that are outside of all years in another zone.
    "pattern": rf"^(?!000[01]|9999){_DAY}(?:[T ]{_HOUR}:[0-5]\d(?::[0-5]\d(?:\.\d{{1,9}})?)?"
    rf"(?:Z|[+-]{_HOUR}:?[0-5]\d)?)?$"
}
"""A day, or a day and a time, with a zone or without, as in `2026-03-04T09:30:00Z`."""
RULES_FORMAT = "wellkept-rules"
"""TOML with at least one key, as in docs/consolidation.md; no JSON schema can say that."""
_ANY_TEXT = frozenset({"FilterFields", "ScopeFields"})
"""A filter with a text that no memory holds is no error; it finds nothing."""
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
"""What can be seen of a plan; whether it is one of this store's, only the store can tell."""


def narrow(schema: Any, name: str = "", *, any_text: bool = False) -> None:
    """Add to a schema, in place, what the library checks.

    Args:
        schema: Any part of a schema.
        name: Of the property that it describes.
        any_text: A text may be of any characters here.

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
        del schema["format"]  # of which days without a time, and times without a zone, are none
        schema |= MOMENT
    elif name == "rules":
        schema["format"] = RULES_FORMAT
    elif name == "rels" or (name == "rel" and schema.get("default")):
        schema |= {"minLength": 1, "maxLength": MAX_REL, **LINE}
    elif not any_text and not schema.keys() & {"enum", "const", "format", "pattern"}:
        schema |= VISIBLE if name in _VISIBLE_NAMES else TEXT


def close_kinds(schema: dict[str, Any], kinds: Collection[str]) -> None:
    """Name the kinds of memory that the policy knows, in place."""
    part = schema.get("properties", {}).get("kind", {})
    for option in (part, *part.get("anyOf", ())):
        if option.get("type") == "string":
            option.pop("pattern", None)
            option.pop("maxLength", None)
            option["enum"] = sorted(kinds)


def with_integers(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON knows one kind of number: `2.0` where a whole one is wanted is 2.

    Only where the model asks for a whole number; what is kept as it is, such as metadata, stays as it is.
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
    """The types of a schema; a closed set of whole numbers is one of whole numbers."""
    found: set[str] = set()
    for option in (schema, *schema.get("anyOf", ())):
        if "type" in option:
            found.add(str(option["type"]))
        elif "enum" in option and all(isinstance(item, int) for item in option["enum"]):
            found.add("integer")
    return found
