"""What the library checks beyond the shapes of the input models, told in the words of a JSON schema.

The models say shapes; which characters a text may hold and how large a count may be is decided by the
library. A reader of the OpenAPI document, and a client made from it, should know it beforehand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel

from wellkept.engine.read import MAX_COUNT

_KEPT = r"\t\n\r -~\u00a0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd" + "\U00010000-\U0001fffd"
_SEEN = r"!-~\u00a1-\u00ac\u00ae-\u0377\u03a3-\u03ff\u0410-\u044f\u3041-\u3096\u4e00-\u9fa5\uac00-\ud7a3"
TEXT = rf"^[{_KEPT}]*$"
"""No control characters but tab and line ends, no half characters."""
VISIBLE = rf"^[{_KEPT}]*[{_SEEN}][{_KEPT}]*$"
"""The same, with something to be seen."""
_ANY_TEXT = frozenset({"FilterFields", "ScopeFields"})
"""A filter with a text that no memory holds is no error; it finds nothing."""
LINE = rf"^[{_SEEN}]+( [{_SEEN}]+)*$"
"""One line, as the name of a relation is."""
_VISIBLE_NAMES = frozenset({"content", "query", "response"})


def narrow(schema: Any, name: str = "") -> None:
    """Add to a schema, in place, what the library checks.

    Args:
        schema: Any part of a schema.
        name: Of the property that it describes.

    Example:
        >>> part = {"type": "integer", "minimum": 0}
        >>> narrow(part)
        >>> part["maximum"] == MAX_COUNT
        True
    """
    if isinstance(schema, list):
        for item in schema:
            narrow(item, name)
        return
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind == "string" and not schema.keys() & {"enum", "const", "format", "pattern"}:
        schema["pattern"] = VISIBLE if name in _VISIBLE_NAMES else TEXT
        if name == "rels" or (name == "rel" and schema.get("default")):
            schema |= {"minLength": 1, "pattern": LINE}
    elif kind == "integer" and not schema.keys() & {"enum", "const", "maximum", "exclusiveMaximum"}:
        schema["maximum"] = MAX_COUNT
    for key in ("anyOf", "oneOf", "allOf", "prefixItems", "items"):
        narrow(schema.get(key), name)
    for inner, part in schema.get("properties", {}).items():
        narrow(part, inner)
    for inner, part in schema.get("$defs", {}).items():
        if inner not in _ANY_TEXT:
            narrow(part, inner)


def close_kinds(schema: dict[str, Any], kinds: Collection[str]) -> None:
    """Name the kinds of memory that the policy knows, in place."""
    part = schema.get("properties", {}).get("kind", {})
    for option in (part, *part.get("anyOf", ())):
        if option.get("type") == "string":
            option.pop("pattern", None)
            option.pop("maxLength", None)
            option["enum"] = sorted(kinds)


def whole(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
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
