"""Plan files: JSON with a versioned schema, one action per line, and a strict parser.

A plan file changes a store and may have been edited, so parsing trusts nothing. Unknown keys, wrong types and numbers
out of range are errors that name the place. `plan_id` must match the content, and no action may exceed what the planner
produces (`core/consolidation/plan_limits.py`). The schema for other programs is `plan.schema.json` in `wellkept.core`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast, get_args

from wellkept.core.consolidation.plan import plan_id_of
from wellkept.core.consolidation.plan_limits import refuse_beyond, unusable
from wellkept.core.records.codec import time_from, to_plain
from wellkept.errors import InvalidPlan
from wellkept.types import (
    ACTION_TYPES,
    PLAN_SCHEMA,
    Action,
    ActionType,
    ConflictKind,
    Detected,
    Difference,
    DifferenceKind,
    Edge,
    Flag,
    Json,
    Plan,
    Rationale,
    RowChange,
    Scope,
)

FORMAT = "wellkept.plan"
MAX_CHARS = 256_000_000
MAX_TEXT = 100_000
MAX_LABEL = 1_000
MAX_ITEMS = 100_000
_HEX = re.compile(r"[0-9a-f]{8,64}")
_HASH = re.compile(r"(sha256:)?[0-9a-f]{8,64}")
_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
T = TypeVar("T")


def plan_text(plan: Plan) -> str:
    """The file of a plan; deterministic, and `plan_from` is its inverse.

    Empty and default values are omitted.

    Example:
        >>> plan = Plan(plan_id="0" * 16, config_hash="sha256:" + "0" * 16, snapshot="0" * 16,
        ...             namespace="default", scope=Scope(), detected=Detected())
        >>> plan_text(plan).splitlines()[1:4]
        [' "format": "wellkept.plan",', ' "schema": 2,', ' "plan_id": "0000000000000000",']
    """
    head = {
        "format": FORMAT,
        "schema": PLAN_SCHEMA,
        "plan_id": plan.plan_id,
        "config_hash": plan.config_hash,
        "snapshot": plan.snapshot,
        "namespace": plan.namespace,
        "scope": to_plain(plan.scope),
        "detected": to_plain(plan.detected, full=True),
        "planned": plan.planned,
        "degraded": list(plan.degraded),
    }
    lines = [f" {json.dumps(key)}: {line(value)}," for key, value in head.items()]
    actions = ",\n".join(f"  {line(to_plain(action))}" for action in plan.actions)
    return "{\n" + "\n".join(lines) + '\n "actions": [\n' + actions + ("\n" if actions else "") + " ]\n}\n"


def line(value: Json) -> str:
    """One-line JSON without control, invisible or bidirectional characters."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def plan_from(text: str, *, origin: str = "plan") -> Plan:
    """Parse a plan file.

    Args:
        text: Content of the file; untrusted.
        origin: Name of the file, for errors.

    Raises:
        InvalidPlan: Not a plan, another schema, changed since it was written, or an action exceeds the limits; names
            the place.
    """
    if len(text) > MAX_CHARS:
        raise InvalidPlan(f"has {len(text)} characters", where=origin, todo=f"A plan has at most {MAX_CHARS}")
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_each_key_once)
        plan = _plan(data, origin)
        expected = plan_id_of(plan.config_hash, plan.snapshot, plan.actions)
    except (ValueError, RecursionError) as error:  # lone surrogates cannot be hashed; deep nesting cannot be parsed
        if isinstance(error, InvalidPlan):
            raise
        raise InvalidPlan(f"not JSON as we write it: {error}", where=origin, todo="Make the plan again") from error
    if plan.plan_id != expected:
        raise InvalidPlan(
            "was changed since it was written: plan_id does not fit the actions",
            where=f"{origin}: plan_id",
            todo="Make the plan again; leave actions out with --only or --skip",
        )
    refuse_beyond(plan, origin)
    return plan


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object names a key twice")
    return found


# --------------------------------------------------------------------------------------------
# Records

_HEAD = (
    "format", "schema", "plan_id", "config_hash", "snapshot", "namespace", "scope", "detected", "planned", "degraded",
    "actions",
)  # fmt: skip


def _plan(data: Json, where: str) -> Plan:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidPlan(
            "is not a plan of Wellkept", where=where, todo="Name a file that `wellkept consolidate` wrote"
        )
    if type(data.get("schema")) is not int or data["schema"] != PLAN_SCHEMA:
        shown = str(data.get("schema"))[:20]
        raise InvalidPlan(
            f"has schema {shown}, not {PLAN_SCHEMA}", where=f"{where}: schema", todo="Make the plan again"
        )
    _object(data, where, _HEAD, _HEAD)
    plan = Plan(
        plan_id=_match(data["plan_id"], f"{where}: plan_id", _HEX),
        config_hash=_match(data["config_hash"], f"{where}: config_hash", _HASH),
        snapshot=_match(data["snapshot"], f"{where}: snapshot", _HASH),
        namespace=_label(data["namespace"], f"{where}: namespace"),
        scope=_scope(data["scope"], f"{where}: scope"),
        detected=_detected(data["detected"], f"{where}: detected"),
        degraded=_each(data["degraded"], f"{where}: degraded", _label),
        actions=_each(data["actions"], f"{where}: actions", _action, most=1_000_000),
    )
    if data["planned"] != plan.planned:
        raise InvalidPlan("does not count the actions", where=f"{where}: planned", todo="Make the plan again")
    return plan


def _scope(data: Json, where: str) -> Scope:
    _object(data, where, tuple(Scope.__dataclass_fields__))
    times: dict[str, Any] = {}
    for name in ("created_from", "created_to"):
        if name in data:
            text = _label(data[name], f"{where}.{name}")
            try:
                times[name] = time_from(text)
            except (ValueError, OverflowError) as error:
                raise unusable("is not a time with a zone", f"{where}.{name}") from error
    return Scope(
        kinds=_each(data.get("kinds", []), f"{where}.kinds", _label),
        tags=_each(data.get("tags", []), f"{where}.tags", _label),
        limit=_count(data["limit"], f"{where}.limit") if "limit" in data else None,
        **times,
    )


def _detected(data: Json, where: str) -> Detected:
    names = tuple(Detected.__dataclass_fields__)
    _object(data, where, names, names)
    return Detected(**{name: _count(data[name], f"{where}.{name}") for name in names})


def _action(data: Json, where: str) -> Action:
    _object(data, where, tuple(Action.__dataclass_fields__), ("id", "type", "targets", "rationale"))
    return Action(
        id=_match(data["id"], f"{where}.id", _HEX),
        type=cast(ActionType, _one_of(data["type"], f"{where}.type", ACTION_TYPES)),
        targets=_each(data["targets"], f"{where}.targets", _label),
        rationale=_rationale(data["rationale"], f"{where}.rationale"),
        canonical=_label(data.get("canonical", ""), f"{where}.canonical"),
        expect=_expect(data.get("expect", {}), f"{where}.expect"),
        rows=_each(data.get("rows", []), f"{where}.rows", _row),
        links=_each(data.get("links", []), f"{where}.links", _edge),
        unlinks=_each(data.get("unlinks", []), f"{where}.unlinks", _edge),
        aliases=_each(data.get("aliases", []), f"{where}.aliases", _label),
        flags=_each(data.get("flags", []), f"{where}.flags", _flag),
        settles=_each(data.get("settles", []), f"{where}.settles", _label),
        summary=_values(data.get("summary", {}), f"{where}.summary"),
        samples=_each(data.get("samples", []), f"{where}.samples", _label),
    )


def _rationale(data: Json, where: str) -> Rationale:
    _object(data, where, tuple(Rationale.__dataclass_fields__), ("rule",))
    return Rationale(
        rule=_label(data["rule"], f"{where}.rule"),
        reasons=_each(data.get("reasons", []), f"{where}.reasons", _text),
        score=_figure(data.get("score"), f"{where}.score"),
        similarity=_figure(data.get("similarity"), f"{where}.similarity"),
        cluster=_label(data.get("cluster", ""), f"{where}.cluster"),
        signals=_each(data.get("signals", []), f"{where}.signals", _label),
        differences=_each(data.get("differences", []), f"{where}.differences", _difference),
    )


def _difference(data: Json, where: str) -> Difference:
    _object(data, where, tuple(Difference.__dataclass_fields__), ("kind", "old", "new"))
    flags = {}
    for name in ("decisive", "sure"):
        flags[name] = data.get(name, False)
        if not isinstance(flags[name], bool):
            raise unusable("is not true or false", f"{where}.{name}")
    return Difference(
        cast(DifferenceKind, _one_of(data["kind"], f"{where}.kind", get_args(DifferenceKind))),
        _text(data["old"], f"{where}.old"),
        _text(data["new"], f"{where}.new"),
        **flags,
    )


def _row(data: Json, where: str) -> RowChange:
    names = ("memory_id", "before", "after")
    _object(data, where, names, names)
    return RowChange(
        _label(data["memory_id"], f"{where}.memory_id"),
        _values(data["before"], f"{where}.before"),
        _values(data["after"], f"{where}.after"),
    )


def _flag(data: Json, where: str) -> Flag:
    _object(data, where, tuple(Flag.__dataclass_fields__), ("a", "b", "kind", "reason"))
    return Flag(
        a=_label(data["a"], f"{where}.a"),
        b=_label(data["b"], f"{where}.b"),
        kind=cast(ConflictKind, _one_of(data["kind"], f"{where}.kind", get_args(ConflictKind))),
        reason=_label(data["reason"], f"{where}.reason"),
        similarity=_figure(data.get("similarity"), f"{where}.similarity"),
        differences=_each(data.get("differences", []), f"{where}.differences", _difference),
        probability=_figure(data.get("probability"), f"{where}.probability"),
    )


def _edge(data: Json, where: str) -> Edge:
    if not isinstance(data, list) or len(data) != 3:
        raise unusable("is not a list of source, destination and relation", where)
    src, dst, rel = (_label(item, where) for item in data)
    return src, dst, rel


def _expect(data: Json, where: str) -> dict[str, int]:
    _some_object(data, where)
    return {_label(key, where): _count(value, f"{where}.{key[:80]}") for key, value in data.items()}


def _values(data: Json, where: str) -> dict[str, Json]:
    """Fields with plain values; permitted changes are checked by `plan_limits`."""
    _some_object(data, where)
    return {_label(key, where): value for key, value in data.items()}


# --------------------------------------------------------------------------------------------
# Values


def _some_object(data: Json, where: str) -> None:
    if not isinstance(data, Mapping):
        raise unusable("is not an object", where)
    if len(data) > MAX_ITEMS:
        raise unusable(f"has {len(data)} keys", where)


def _object(data: Json, where: str, allowed: tuple[str, ...], required: tuple[str, ...] = ()) -> None:
    _some_object(data, where)
    for key in data:
        if key not in allowed:
            raise unusable(f"unknown key {key[:80]!r}", where)
    for key in required:
        if key not in data:
            raise unusable(f"lacks {key!r}", where)


def _each(data: Json, where: str, read: Callable[[Json, str], T], *, most: int = MAX_ITEMS) -> tuple[T, ...]:
    if not isinstance(data, list):
        raise unusable("is not a list", where)
    if len(data) > most:
        raise unusable(f"has {len(data)} items", where)
    return tuple(read(item, f"{where}[{place}]") for place, item in enumerate(data))


def _text(data: Json, where: str, limit: int = MAX_TEXT) -> str:
    if not isinstance(data, str):
        raise unusable("is not text", where)
    if len(data) > limit:
        raise unusable(f"has {len(data)} characters", where)
    return data


def _label(data: Json, where: str) -> str:
    return _text(data, where, MAX_LABEL)


def _match(data: Json, where: str, pattern: re.Pattern[str]) -> str:
    text = _label(data, where)
    if not pattern.fullmatch(text):
        raise unusable(f"{text[:80]!r} is not a hash", where)
    return text


def _one_of(data: Json, where: str, allowed: tuple[str, ...]) -> str:
    text = _label(data, where)
    if text not in allowed:
        raise unusable(f"{text[:80]!r} is not one of {', '.join(allowed)}", where)
    return text


def _count(data: Json, where: str) -> int:
    if type(data) is not int or not 0 <= data < 1 << 53:
        raise unusable("is not a count", where)
    return data


def _figure(data: Json, where: str) -> float | None:
    """A similarity or probability."""
    if data is None:
        return None
    if type(data) not in (int, float) or not -1 <= data <= 1:
        raise unusable("is not a number from -1 to 1", where)
    return float(data)
