"""Validates a caller's values and turns them into a `NewMemory`, or raises a typed error."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args

from wellkept.core.text.forms import check_text
from wellkept.errors import InvalidField, InvalidInput, use_one_of
from wellkept.policy import Policy
from wellkept.types import NewMemory, OnConflict

if TYPE_CHECKING:
    from wellkept.core.judging.evidence import ContradictionFn
    from wellkept.engine.base.context import Context

MAX_COUNT = 2**53
MAX_LABEL = 500
MAX_SUMMARY = 20_000
MAX_LIST = 1_000
MAX_JSON = 64_000
MAX_DEPTH = 100
MAX_NAMESPACE = 200
MAX_QUERY_CHARS = 20_000
MAX_LIMIT = 1_000
MAX_BATCH = 1_000
"""Maximum number of texts in a batch over the network; more need an import, or several batches."""
_LABELS = ("kind", "title", "subject", "attribute", "agent", "source", "frame", "idempotency_key")
_TIMES = ("event_time", "event_end", "expires_at", "ended_at", "recorded_at")
_LISTS = ("tags", "provenance", "links")
_FLAGS = ("pinned", "automatic", "keep")
_FIELDS = frozenset(NewMemory.__dataclass_fields__)


def new_memory(content: object, given: Mapping[str, Any], policy: Policy, *, merged: bool = False) -> NewMemory:
    """Validate all fields and build a `NewMemory`; nothing is written if it fails.

    Args:
        content: The text.
        given: The other fields, by name.
        policy: The known kinds, and the maximum length of a text.
        merged: True when the fields may be combined from several statements: tags and metadata are then
            unbounded, and `event_end` may be before `event_time`.

    Raises:
        InvalidInput: Names the field, the problem, and the allowed values.
        UnknownKind: The policy does not contain the kind.
    """
    if not isinstance(content, str):
        raise InvalidField(f"must be text, not {type(content).__name__}", where="content", todo="Pass a str")
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _FIELDS:
            todo = use_one_of(name, sorted(_FIELDS - {"content"}))
            raise InvalidField("unknown field", where=str(name), todo=todo)
        values[name] = _checked(name, value, merged=merged)
    new = NewMemory(content=content, **values)
    policy.for_kind(new.kind)
    check_text(content, limit=policy.max_content_chars)
    if not merged and new.event_time and new.event_end and new.event_end < new.event_time:
        raise InvalidField("lies before event_time", where="event_end", todo="Swap the two")
    return new


def statement(content: str | NewMemory, fields: Mapping[str, Any], policy: Policy) -> NewMemory:
    """A statement from a text with fields, or from a `NewMemory` whose fields may be overridden."""
    if isinstance(content, NewMemory):
        given = {name: getattr(content, name) for name in NewMemory.__dataclass_fields__ if name != "content"}
        return new_memory(content.content, {**given, **fields}, policy)
    return new_memory(content, fields, policy)


def asked_of(
    ctx: Context,
    kinds: Iterable[str],
    on_conflict: OnConflict | None,
    contradiction_fn: ContradictionFn | None = None,
) -> Context:
    """The context with the call's `on_conflict` and contradiction function, for the kinds it writes.

    Raises:
        InvalidField: An unknown value.
    """
    if contradiction_fn is not None:
        if not callable(contradiction_fn):
            raise InvalidField("is not a function", where="contradiction_fn", todo="Pass a function of two memories")
        ctx = replace(ctx, contradiction_fn=contradiction_fn)
    if on_conflict is None:
        return ctx
    if on_conflict not in get_args(OnConflict):
        todo = use_one_of(on_conflict, get_args(OnConflict))
        raise InvalidField(f"{on_conflict!r} is not allowed", where="on_conflict", todo=todo)
    policy = ctx.policy
    for kind in sorted(kinds):
        policy = policy.with_conflict(kind, on_conflict)
    return replace(ctx, policy=policy, store_policy=ctx.store_policy or ctx.policy)


def moment(name: str, value: object) -> datetime | None:
    """A time as an aware UTC value; text is read as ISO 8601, a time without a zone as UTC.

    Raises:
        InvalidField: Not a time.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        text = value
        try:
            value = datetime.fromisoformat(text)
        except ValueError as error:
            hint = "Use ISO 8601: 2026-03-04T09:30"
            raise InvalidField(f"{text[:40]!r} is not a date", where=name, todo=hint) from error
    if not isinstance(value, datetime):
        raise InvalidField(f"{type(value).__name__} is not a date", where=name, todo="Pass a datetime or ISO 8601 text")
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidField("lies outside the years 1 to 9999 in UTC", where=name, todo="Change it") from error


def share(name: str, value: object) -> float:
    """A number from 0 to 1.

    Raises:
        InvalidField: Not a number, not finite, or outside.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:  # also excludes NaN
        raise InvalidField(f"{value!r} is not a number from 0 to 1", where=name, todo="Use 0.0 to 1.0; 0.5 is neutral")
    return float(value)


def count(name: str, value: object, most: int) -> int:
    """Validate a whole number from 1 to `most`.

    Raises:
        InvalidField: Any other value.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidField(f"{value!r} is not a whole number from 1 to {most}", where=name, todo="Change it")
    return value


def at_most(name: str, value: object) -> int | None:
    """Validate an optional bound: a whole number from 0.

    Raises:
        InvalidField: Any other value.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise InvalidField(f"{value!r} is not a count", where=name, todo="Use a whole number from 0, or leave it out")
    return value


def check_namespace(name: object) -> str:
    """A namespace in normal form: a path of 1 to 200 characters without blanks around its parts.

    Raises:
        InvalidField: Not a valid namespace.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidField("is empty", where="namespace", todo="Use a path such as acme/alice/coder")
    check_text(name, limit=MAX_NAMESPACE)
    parts = [part.strip() for part in name.split("/")]
    if not all(parts) or not name.isprintable():
        raise InvalidField(
            f"{name[:60]!r} is not a path", where="namespace", todo="Use a path such as acme/alice/coder"
        )
    return "/".join(parts)


def _checked(name: str, value: Any, *, merged: bool) -> Any:
    if name in _TIMES:
        return moment(name, value)
    if name in _LISTS:
        return _texts(name, value, math.inf if merged else MAX_LIST)
    if name in _LABELS:
        return label(name, value, MAX_LABEL)
    if name in _FLAGS:
        if not isinstance(value, bool):
            raise InvalidField(f"{value!r} is not true or false", where=name, todo="Pass a bool")
        return value
    match name:
        case "importance" | "confidence":
            return share(name, value)
        case "polarity":
            if isinstance(value, bool) or value not in (-1, 0, 1):
                raise InvalidField(f"{value!r} is not allowed", where=name, todo="Use -1, 0 or 1")
            return int(value)
        case "metadata" | "signals":
            return _mapping(name, value, math.inf if merged else MAX_JSON)
        case _:
            return label(name, value, MAX_SUMMARY)


def label(name: str, value: object, most: int = MAX_LABEL) -> str:
    """A short text, trimmed.

    Raises:
        InvalidInput: Not a text, too long, or with characters that are not allowed.
    """
    if not isinstance(value, str):
        raise InvalidField(f"must be text, not {type(value).__name__}", where=name, todo="Pass a str")
    if value.strip():
        try:
            check_text(value, limit=most)
        except InvalidInput as error:
            where = f"{name}, {error.where}" if error.where else name
            todo = error.todo if error.where else f"Use at most {most} characters"
            raise type(error)(error.what, where=where, todo=todo) from error
    return value.strip()


def _texts(name: str, value: object, most: float) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        raise InvalidField(f"must be a list of texts, not {type(value).__name__}", where=name, todo='Write ["a", "b"]')
    if len(value) > most:
        raise InvalidField(f"has {len(value)} items", where=name, todo=f"Use at most {most}")
    texts = [label(name, item, MAX_LABEL) for item in value]
    if isinstance(value, set | frozenset):
        texts.sort()  # the order of a set differs between processes
    return tuple(dict.fromkeys(text for text in texts if text))


def _mapping(name: str, value: object, most: float) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidField(f"must be a mapping, not {type(value).__name__}", where=name, todo='Write {"key": value}')
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField(f"cannot be kept as JSON: {error}", where=name, todo="Use text, numbers, lists") from error
    if len(text) > most:
        raise InvalidField(f"is {len(text)} characters of JSON", where=name, todo=f"Use at most {most}")
    plain: dict[str, Any] = json.loads(text)
    if _is_deeper(plain, MAX_DEPTH):  # JSON parsers have a maximum depth
        raise InvalidField(f"is nested deeper than {MAX_DEPTH}", where=name, todo="Write it flatter")
    return plain


def _is_deeper(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most + 1):
        inner = [item for item in level if isinstance(item, dict | list)]
        if not inner:
            return False
        level = [part for item in inner for part in (item.values() if isinstance(item, dict) else item)]
    return True
