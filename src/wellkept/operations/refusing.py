"""Converts invalid fields of a request to an error that names the field and the remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from wellkept.errors import InvalidField

_SHOWN = 60
_UNKNOWN = "extra_forbidden"
_UNKNOWN_AT_MOST = 50
"""Number of unknown fields examined for a probable intention."""
_SAME_AS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("text", "body", "message", "statement", "note"), ("content", "query", "response")),
    **dict.fromkeys(("id", "node_id", "ref", "memory"), ("memory_id", "key", "question", "content")),
    **dict.fromkeys(("type", "memory_type", "subtype", "category"), ("kind", "rel")),
    **dict.fromkeys(("k", "n", "top_k", "count", "max_results", "num_results"), ("limit", "newest")),
    **dict.fromkeys(("q", "question", "search", "topic"), ("query",)),
    **dict.fromkeys(("filter", "filters"), ("where",)),
    **dict.fromkeys(("source_id", "from", "src_id"), ("src",)),
    **dict.fromkeys(("target", "target_id", "to", "dst_id"), ("dst",)),
    **dict.fromkeys(("relation", "relationship"), ("rel",)),
    **dict.fromkeys(("seq", "number", "journal_entry"), ("entry",)),
    **dict.fromkeys(("conflict", "conflict_id", "conflict_key"), ("key",)),
    **dict.fromkeys(("date", "time", "timestamp"), ("event_time",)),
    **dict.fromkeys(("answer", "answers"), ("text",)),
    **dict.fromkeys(("tokens", "max_tokens", "budget"), ("budget_tokens",)),
}
"""Field names of other memory systems, and possible equivalents here."""


def refuse_many(model: type[BaseModel], fields: Mapping[str, Any], where: str = "") -> None:
    """Reject a request with far more fields than the model has, before each field is validated.

    Args:
        model: The expected model.
        fields: JSON values.
        where: The field that contains these fields; empty for the operation itself.

    Raises:
        InvalidField: The object, or a nested object, has too many fields.

    Example:
        >>> from wellkept.operations.inputs import Undo
        >>> refuse_many(Undo, dict.fromkeys(map(str, range(1_000)), 1))
        Traceback (most recent call last):
        wellkept.errors.InvalidField: has 1000 fields, but at most 1 is known (input)...
    """
    known = len(model.model_fields)
    if len(fields) > known + _UNKNOWN_AT_MOST:
        raise InvalidField(
            f"has {len(fields)} fields, but at most {known} {'is' if known == 1 else 'are'} known",
            where=where or "input",
            todo="Send only those of the operation's input schema",
        )
    for name in model.model_fields.keys() & fields.keys():
        inside = nested_model(model, name)
        if inside is not None and isinstance(fields[name], Mapping):
            refuse_many(inside, fields[name], f"{where}.{name}" if where else name)


def refusal(model: type[BaseModel], error: ValidationError) -> InvalidField:
    """Convert the first validation error; the given value is not repeated, because it may be long or secret.

    An unknown field is reported before the missing field that it probably means.

    Args:
        model: The expected model.
        error: The validation errors.
    """
    found = error.errors(include_url=False, include_context=False, include_input=False)
    meant = [meaning(model, item["loc"]) if item["type"] == _UNKNOWN else "" for item in found]
    at = next((place for place, name in enumerate(meant) if name), 0)
    first, name = found[at], meant[at]
    where = ".".join(str(part) for part in first["loc"])[: 4 * _SHOWN]
    what = {"missing": "is missing", _UNKNOWN: "unknown field"}.get(first["type"], first["msg"])
    others = sum(1 for place, item in enumerate(found) if place != at and not (name and item["loc"][-1:] == (name,)))
    more = f"; {others} more field{'s are' if others > 1 else ' is'} invalid" if others else ""
    todo = f"Did you mean `{name}`?" if name else "See the operation's input schema"
    return InvalidField(f"{what}{more}", where=where or "input", todo=todo)


def meaning(model: type[BaseModel], place: Sequence[int | str]) -> str:
    """The field that an unknown name probably means; empty when no field is similar.

    Args:
        model: The expected model.
        place: The path to the unknown name: field names and list positions.

    Example:
        >>> from wellkept.operations.inputs import Remember
        >>> meaning(Remember, ("text",)), meaning(Remember, ("tag",)), meaning(Remember, ("colour",))
        ('content', 'tags', '')
    """
    inside: type[BaseModel] | None = model
    for part in place[:-1]:
        inside = nested_model(inside, part) if inside is not None else None
    given = str(place[-1])[:_SHOWN].lower()
    if inside is None:
        return ""
    names = list(inside.model_fields)
    usual = (name for name in _SAME_AS.get(given, ()) if name in names)
    return next(usual, "") or next(iter(get_close_matches(given, names, n=1, cutoff=0.7)), "")


def nested_model(model: type[BaseModel], name: int | str) -> type[BaseModel] | None:
    """The model of a field that contains an object; None for other fields and for unknown names."""
    field = model.model_fields.get(str(name))
    parts: tuple[Any, ...] = () if field is None else (field.annotation, *get_args(field.annotation))
    return next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)
