"""Limits of a plan: each action is checked against what the planner can produce.

The planner hides, adds and flags; it never deletes. A file that exceeds this was edited and is refused before the store
is read. Texts stay unchanged, memories are hidden only as archived or superseded, and fields of a remaining memory may
only grow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from wellkept.core.consolidation.merged_memory import MERGED_FROM, PROMOTED
from wellkept.core.records.codec import time_from
from wellkept.core.records.conflicts import key_of
from wellkept.core.records.merge import MAX_PROVENANCE
from wellkept.errors import InvalidPlan
from wellkept.types import Action, ConflictKind, Json, NewMemory, Plan, RowChange

_HIDDEN = ("archived", "superseded")
_NOT_SUMMED = frozenset(("links", "automatic", "frame", "keep", "idempotency_key", "recorded_at"))
_PARTS = ("rows", "links", "unlinks", "aliases", "flags", "settles", "summary", "canonical")
_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "merge": ("rows", "links", "unlinks", "aliases", "flags", "settles", "canonical"),
    "fold": ("rows", "links", "unlinks", "flags", "settles", "canonical"),
    "summarize": ("rows", "links", "summary"),
    "promote": ("rows",),
    "archive": ("rows",),
    "flag_contradiction": ("flags",),
    "mark": ("flags", "settles"),
    "noop": (),
}


def refuse_beyond(plan: Plan, origin: str = "plan") -> None:
    """Refuse a plan with an action beyond the limits.

    Raises:
        InvalidPlan: Names the action and the violation.
    """
    seen: set[str] = set()
    for place, action in enumerate(plan.actions):
        where = f"{origin}: actions[{place}]"
        if action.id in seen:
            raise unusable(f"action {action.id} is there twice", where)
        seen.add(action.id)
        _check_frame(action, where)
        match action.type:
            case "merge" | "fold":
                _check_merge(action, where)
            case "summarize":
                _check_summary(action, where)
            case "promote":
                _check_single(action, where)
                _check_growth(action.rows[0], f"{where}.rows[0]", ("importance", "pinned", "metadata"))
            case "archive":
                _check_single(action, where)
                _check_exactly(action.rows[0], f"{where}.rows[0]", {"status": "active"}, {"status": "archived"})
            case "flag_contradiction":
                _check_flag(action, where, kind="contradiction")
            case "mark":
                _check_flag(action, where, kind="outdated")
            case "noop":
                pass
            case _:
                assert_never(action.type)


def unusable(what: str, where: str) -> InvalidPlan:
    """The error for a plan that cannot be carried out as it is written."""
    return InvalidPlan(what, where=where, todo="Make the plan again")


def _check_frame(action: Action, where: str) -> None:
    """Checks for every type: targets, versions, and permitted parts."""
    if not action.targets or len(set(action.targets)) != len(action.targets) or "" in action.targets:
        raise unusable("needs targets, each once", f"{where}.targets")
    for part in _PARTS:
        if getattr(action, part) and part not in _OF_TYPE[action.type]:
            raise unusable(f"{action.type} has no {part}", f"{where}.{part}")
    changed = [row.memory_id for row in action.rows]
    if len(set(changed)) != len(changed):
        raise unusable("changes a memory twice", f"{where}.rows")
    needed = {*changed, *(action.targets if action.type != "noop" else ())}
    if not needed <= action.expect.keys():
        raise unusable("must name the version of every memory it reads or changes", f"{where}.expect")


def _check_single(action: Action, where: str) -> None:
    if [row.memory_id for row in action.rows] != list(action.targets) or len(action.targets) != 1:
        raise unusable(f"{action.type} changes its one target and nothing else", f"{where}.rows")


def _check_flag(action: Action, where: str, *, kind: ConflictKind) -> None:
    """A flag or mark concerns exactly its two targets."""
    flags = action.flags
    if len(flags) != 1 or (flags[0].a, flags[0].b) != action.targets or flags[0].kind != kind:
        named = "as a contradiction" if kind == "contradiction" else "as outdated"
        raise unusable(f"flags its two targets {named} and nothing else", f"{where}.flags")
    if kind == "outdated" and flags[0].probability is None:
        raise unusable("has a probability", f"{where}.flags")
    if any(key != key_of(flags[0].a, flags[0].b, "contradiction") for key in action.settles):
        raise unusable("takes the place of the contradiction of its two targets only", f"{where}.settles")


def _check_summary(action: Action, where: str) -> None:
    allowed = frozenset(NewMemory.__dataclass_fields__) - _NOT_SUMMED
    content = action.summary.get("content")
    if not isinstance(content, str) or not content.strip() or not action.summary.keys() <= allowed:
        raise unusable("is not a memory", f"{where}.summary")
    for place, row in enumerate(action.rows):
        at = f"{where}.rows[{place}]"
        if row.memory_id not in action.targets:
            raise unusable("is none of the summarized memories", at)
        _check_hidden(row, at, behind="")
    for src, dst, rel in action.links:
        if src or dst not in action.targets or rel not in ("derived_from", "supersedes"):
            raise unusable("links only the summary to what it was made from", f"{where}.links")


def _check_merge(action: Action, where: str) -> None:
    kept, others = action.canonical, action.targets[:-1]
    if not others or action.targets[-1] != kept:
        raise unusable("needs two targets, the last of which stays", f"{where}.canonical")
    if not {row.memory_id for row in action.rows} >= set(action.targets):
        raise unusable("changes each of its targets", f"{where}.rows")
    for place, row in enumerate(action.rows):
        at = f"{where}.rows[{place}]"
        if row.memory_id == kept:
            merges = action.type == "merge"
            _check_growth(row, at, (*_OF_MERGE, "metadata") if merges else _OF_FOLD)
        elif row.memory_id in others and action.type == "fold":
            before = {"status": "active", "superseded_by": ""}
            _check_exactly(row, at, before, {"status": "wording", "superseded_by": kept})
        elif row.memory_id in others:
            _check_hidden(row, at, behind=kept)
        elif row.before.get("superseded_by") not in others:
            raise unusable("is not a memory behind one that goes", at)
        else:
            _check_exactly(row, at, {"superseded_by": row.before["superseded_by"]}, {"superseded_by": kept})
    _check_moved(action, where, gone=frozenset(others))


def _check_moved(action: Action, where: str, *, gone: frozenset[str]) -> None:
    """Links, aliases and conflicts move only from merged memories to the remaining one."""
    kept = action.canonical
    if not gone.issuperset(action.aliases):
        raise unusable("come from the memories that go", f"{where}.aliases")
    if any(kept not in edge[:2] for edge in action.links):
        raise unusable("are those of the memory that stays", f"{where}.links")
    if any(gone.isdisjoint(edge[:2]) for edge in action.unlinks):
        raise unusable("are those of the memories that go", f"{where}.unlinks")
    if any(kept not in (flag.a, flag.b) or flag.a == flag.b for flag in action.flags):
        raise unusable("are those of the memory that stays", f"{where}.flags")


def _check_exactly(row: RowChange, where: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> None:
    if dict(row.before) != before or dict(row.after) != after:
        words = ", ".join(f"{name} to {value}" for name, value in after.items())
        raise unusable(f"may change {words} and nothing else", where)


def _check_hidden(row: RowChange, where: str, *, behind: str) -> None:
    """A memory is hidden without any other change."""
    status = row.after.get("status")
    if status not in _HIDDEN or row.before.get("status") != "active":
        raise unusable("may only become archived or superseded", f"{where}.after.status")
    led = behind if status == "superseded" else ""
    if row.after.get("superseded_by", "") != led or row.before.get("superseded_by", ""):
        raise unusable("leads to the memory that stays", f"{where}.after.superseded_by")
    for name in row.after.keys() | row.before.keys():
        if name not in ("status", "superseded_by"):
            raise unusable(f"may not change {name[:80]!r} of a memory that goes", f"{where}.after")


# --------------------------------------------------------------------------------------------
# What may grow, and how


def _check_growth(row: RowChange, where: str, allowed: tuple[str, ...]) -> None:
    if row.before.keys() != row.after.keys():
        raise unusable("names other fields before than after", where)
    for name, after in row.after.items():
        if name not in allowed:
            raise unusable(f"may not change {name[:80]!r}", f"{where}.after")
        if not _grows(name, row.before[name], after, own=row.memory_id):
            raise unusable(f"{name} may only grow", f"{where}.after.{name}")


def _grows(name: str, before: Json, after: Json, *, own: str) -> bool:
    try:
        return _metadata_grows(before, after, own) if name == "metadata" else _GROWTH[name](before, after)
    except (TypeError, ValueError, OverflowError, AttributeError):  # the value has another type than the field
        return False


def _share_rises(before: Json, after: Json) -> bool:
    return _is_number(before) and _is_number(after) and before <= after <= 1


def _count_rises(before: Json, after: Json) -> bool:
    return type(before) is int and type(after) is int and 0 <= before <= after < 1 << 53


def _number_rises(before: Json, after: Json) -> bool:
    return (
        _is_number(after) and after >= 0 and (before is None or _is_number(before) and before <= after < float("inf"))
    )


def _time_is_later(before: Json, after: Json) -> bool:
    return before is None and time_from(after) is not None or time_from(before) <= time_from(after)


def _end_is_later(before: Json, after: Json) -> bool:
    return after is None or time_from(before) <= time_from(after)


def _time_is_filled(before: Json, after: Json) -> bool:
    return before is None and time_from(after) is not None


def _text_is_filled(before: Json, after: Json) -> bool:
    return before == "" and isinstance(after, str) and len(after) <= 500


def _list_grows(before: Json, after: Json) -> bool:
    return (
        isinstance(before, list)
        and isinstance(after, list)
        and all(isinstance(item, str) and len(item) <= 500 for item in after)
        and after[: len(before)] == before[: len(after)]
        and len(after) >= min(len(before), MAX_PROVENANCE)
    )


def _is_pinned(before: Json, after: Json) -> bool:
    return before is False and after is True


def _metadata_grows(before: Json, after: Json, own: str) -> bool:
    """Existing metadata stays; only consolidation's own notes may grow.

    Other values in place of such a note are ignored.
    """
    notes = (MERGED_FROM, PROMOTED)
    if not isinstance(after, dict) or any(key not in notes and after.get(key) != was for key, was in before.items()):
        return False
    merged, promoted = before.get(MERGED_FROM), before.get(PROMOTED)
    sources = {one for one in merged if isinstance(one, str)} if isinstance(merged, list) else set()
    rules = promoted.items() if isinstance(promoted, dict) else ()
    return sources - {own} <= set(after.get(MERGED_FROM, [])) and all(after[PROMOTED].get(k) == v for k, v in rules)


_GROWTH: Mapping[str, Callable[[Json, Json], bool]] = {
    "importance": _share_rises,
    "access_count": _count_rises,
    "confirmations": _count_rises,
    "last_accessed_at": _time_is_later,
    "stability": _number_rises,
    "tags": _list_grows,
    "provenance": _list_grows,
    "pinned": _is_pinned,
    "subject": _text_is_filled,
    "attribute": _text_is_filled,
    "source": _text_is_filled,
    "event_time": _time_is_filled,
    "event_end": _time_is_filled,
    "expires_at": _end_is_later,
    "last_confirmed_at": _time_is_later,
}
"""Fields besides metadata that an action may change in the remaining memory, with the check for growth."""
_OF_FOLD = ("confirmations", "last_confirmed_at", "pinned")
_OF_MERGE = tuple(name for name in _GROWTH if name != "last_confirmed_at")


def _is_number(value: Json) -> bool:
    return type(value) in (int, float)
