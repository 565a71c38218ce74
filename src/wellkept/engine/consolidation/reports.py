"""Files of a run: its report and its plan.

A report is for people and dashboards: it contains before and after of every action, but texts only as short
excerpts with likely secrets removed. It is written once and never overwritten. A plan file holds the complete
values needed to execute it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wellkept.core.consolidation.plan_file import MAX_CHARS, line, plan_from, plan_text
from wellkept.core.records.codec import to_plain
from wellkept.core.text.redaction import redacted
from wellkept.engine.base import files
from wellkept.errors import InvalidPlan, StorePathError
from wellkept.types import ACTION_TYPES, Action, ActionResult, Json, Plan, RowChange, RunReport, Scope

SCHEMA = 1
FOLDER = Path("reports", "consolidation")
SAMPLES = 20
_STATES = ("executed", "done", "stale", "left_out", "failed")
_TRIES = 1_000


# --------------------------------------------------------------------------------------------
# The report


def report_of(report: RunReport) -> dict[str, Json]:
    """The report as JSON values; `docs/consolidation.md` explains each key."""
    plan = report.plan
    results = {result.action_id: result for result in report.results}
    return {
        "schema": SCHEMA,
        "run_id": report.run_id,
        "plan_id": plan.plan_id,
        "config_hash": plan.config_hash,
        "mode": report.mode,
        "forced": report.forced,
        "started_at": to_plain(report.started_at),
        "seconds": report.seconds,
        "namespace": plan.namespace,
        "scope": scope_of(plan.scope),
        "detected": to_plain(plan.detected, full=True),
        "degraded": list(plan.degraded),
        "planned": plan.planned,
        "executed": report.executed,
        "skipped": report.skipped,
        "errors": report.errors,
        "counts": counts_of(report),
        "actions": [_action(action, results.get(action.id)) for action in plan.actions],
        "samples": {"clusters": _clusters(plan)},
    }


def summary_of(report: RunReport) -> dict[str, Any]:
    """A report in short: ids, counters, and what did not go through."""
    made = report.plan
    return {
        "plan_id": made.plan_id,
        "run_id": report.run_id,
        "mode": report.mode,
        "forced": report.forced,
        "namespace": made.namespace,
        "config_hash": made.config_hash,
        "scope": scope_of(made.scope),
        "detected": made.detected,
        "degraded": made.degraded,
        "planned": made.planned,
        "executed": report.executed,
        "skipped": report.skipped,
        "errors": report.errors,
        "counts": counts_of(report),
        "not_applied": [result for result in report.results if result.state in ("stale", "failed")],
        "seconds": report.seconds,
    }


def scope_of(scope: Scope) -> dict[str, Json]:
    """The scope of a run; `categories` are its kinds and tags."""
    plain: dict[str, Json] = to_plain(scope, full=True)
    return {"categories": [*scope.kinds, *scope.tags], **plain}


def counts_of(report: RunReport) -> dict[str, dict[str, int]]:
    """For each action type, the number of planned actions and of each result."""
    found = {kind: {"planned": count, **dict.fromkeys(_STATES, 0)} for kind, count in report.plan.planned.items()}
    for result in report.results:
        found[result.type][result.state] += 1
    return found


def _action(action: Action, result: ActionResult | None) -> dict[str, Json]:
    why = action.rationale
    told: dict[str, Json] = {
        "id": action.id,
        "type": action.type,
        "rule": why.rule,
        "state": "planned" if result is None else result.state,
        "why": "" if result is None else result.why,
        "entry": 0 if result is None else result.entry,
        "targets": list(action.targets),
        "canonical": action.canonical,
        "reasons": [redacted(reason) for reason in why.reasons],
        "score": why.score,
        "similarity": why.similarity,
        "cluster": why.cluster,
        "signals": list(why.signals),
        "changes": [{**reference(row), "version": action.expect.get(row.memory_id, 0)} for row in action.rows],
        "flags": [{"a": flag.a, "b": flag.b, "kind": flag.kind, "reason": flag.reason} for flag in action.flags],
    }
    for name in ("links", "unlinks", "settles"):
        if getattr(action, name):
            told[name] = to_plain(getattr(action, name))
    return told | _planned_action(action)


def _planned_action(action: Action) -> dict[str, Json]:
    """The action as a `PlannedAction`, a record format of other consolidators; empty values are left out."""
    why = action.rationale
    stays = action.canonical or action.targets[0]
    after = next((row.after for row in action.rows if row.memory_id == stays), {})
    optional: dict[str, Json] = {
        "canonicalId": action.canonical or None,
        "newContent": _short(action.summary.get("content")),
        "newCategories": _short(after.get("tags", action.summary.get("tags"))),
        "newImportance": after.get("importance", action.summary.get("importance")),
    }
    evidence: dict[str, Json] = {
        "similarity": why.similarity,
        "clusterId": why.cluster or None,
        "contradictionSignals": list(why.signals) or None,
    }
    rationale: dict[str, Json] = {
        "ruleId": why.rule,
        "score": why.score,
        "reasons": [redacted(reason) for reason in why.reasons],
        "evidence": _said(evidence),
    }
    return {"targetIds": list(action.targets), **_said(optional), "rationale": _said(rationale)}


def _said(values: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}


def reference(row: RowChange) -> dict[str, Json]:
    """Before and after of a memory, shortened and without secrets; of metadata only changes."""
    before, after = dict(row.before), dict(row.after)
    if isinstance(after.get("metadata"), Mapping) and isinstance(before.get("metadata"), Mapping):
        old, new = before["metadata"], after["metadata"]
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        before["metadata"] = {name: old[name] for name in names if name in old}
        after["metadata"] = {name: new[name] for name in names if name in new}
    return {"memory_id": row.memory_id, "before": _short(before), "after": _short(after)}


def _short(value: Json) -> Json:
    match value:
        case str():
            return value if _is_id(value) else redacted(value)
        case Mapping():
            return {str(key): "[secret]" if _names_secret(key, item) else _short(item) for key, item in value.items()}
        case list() | tuple():
            return [_short(item) for item in value]
        case _:
            return value


def _names_secret(key: str, value: Json) -> bool:
    return isinstance(value, str) and redacted(f"{key}: x") != f"{key}: x"


def _is_id(text: str) -> bool:
    return len(text) == 36 and all(part.isalnum() for part in text.split("-"))


def _clusters(plan: Plan) -> list[dict[str, Json]]:
    """Excerpts of the first clusters; they were redacted when the plan was made."""
    merges = [action for action in plan.actions if action.type in ("merge", "summarize")]
    return [
        {
            "cluster": action.rationale.cluster,
            "action": action.id,
            "size": len(action.targets),
            "similarity": action.rationale.similarity,
            "excerpts": list(action.samples),
        }
        for action in merges[:SAMPLES]
    ]


# --------------------------------------------------------------------------------------------
# Files


def write_report(report: RunReport, target: str | Path) -> Path:
    """Write the report; an existing file is never overwritten.

    Args:
        report: The run.
        target: A file that does not exist yet, or a folder that gets a file `<time>.json`.

    Returns:
        The file.

    Raises:
        StorePathError: The file exists, or cannot be written.
    """
    values = report_of(report)
    actions = ",\n".join(f"  {line(action)}" for action in values.pop("actions"))
    head = ",\n".join(f" {json.dumps(key)}: {line(value)}" for key, value in values.items())
    text = "{\n" + head + ',\n "actions": [\n' + actions + ("\n" if actions else "") + " ]\n}\n"
    path = Path(target)
    if path.is_dir():
        return _kept_beside(path, stamp(report.started_at), text)
    _write_new(path, text)
    return path


def check_target(target: Path) -> None:
    """Refuse a path where no report can be written, before anything is executed.

    Raises:
        StorePathError: It exists, or its folder is missing or not writable.
    """
    folder = target if target.is_dir() else target.parent
    if target.exists() and not target.is_dir():
        raise StorePathError("the file exists", where=str(target), todo="Name another one")
    if not folder.is_dir():
        raise StorePathError("there is no such folder", where=str(folder), todo="Make it, or name another")
    if not os.access(folder, os.W_OK):
        raise StorePathError("cannot be written to", where=str(folder), todo="Name another folder")


def stamp(at: datetime) -> str:
    """A time as part of a file name, valid on every system.

    Example:
        >>> stamp(datetime(2026, 2, 21, 16, 12, 3, tzinfo=UTC))
        '20260221T161203Z'
    """
    return at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def write_plan(plan: Plan, target: str | Path) -> Path:
    """Write a plan; in a folder as `plan-<plan_id>.json`, so that equal plans share a file.

    Args:
        plan: The plan.
        target: A new file or an existing plan file, or a folder.

    Raises:
        StorePathError: The file holds other data, or cannot be written.
    """
    path, text = Path(target), plan_text(plan)
    if path.is_dir():
        return _kept_beside(path, f"plan-{plan.plan_id}", text)
    if os.path.isfile(path) and '"wellkept.plan"' not in _beginning(path):
        raise StorePathError("exists and is not a plan", where=str(path), todo="Name another file")
    with files.replacing(path) as out:
        out.write(text)
    return path


def read_plan(path: str | Path) -> Plan:
    """Read a plan from a file.

    Raises:
        StorePathError: The file cannot be read.
        InvalidPlan: It holds no plan, or one that may not be executed; names the place.
    """
    path = Path(path)
    try:
        with files.opened(path, packed=False) as data:
            raw = data.read(MAX_CHARS + 1)
    except OSError as error:
        raise StorePathError(f"cannot be read: {error.strerror}", where=str(path), todo="Check the path") from error
    try:
        return plan_from(raw.decode("utf-8-sig"), origin=path.name)
    except UnicodeDecodeError as error:
        raise InvalidPlan("is not UTF-8", where=str(path), todo="Name a plan file") from error


def _beginning(path: Path) -> str:
    with files.opened(path, packed=False) as data:
        return data.read(200).decode("utf-8", "replace")


def _kept_beside(folder: Path, name: str, text: str) -> Path:
    """A new file in a folder; an existing file of that name is used if it has the same text."""
    for count in range(1, _TRIES):
        path = folder / (f"{name}.json" if count == 1 else f"{name}-{count}.json")
        if os.path.isfile(path):
            with files.opened(path, packed=False) as data:
                if data.read(len(text) * 4 + 1) == text.encode():
                    return path
            continue
        try:
            _write_new(path, text)
        except StorePathError as error:
            if isinstance(error.__cause__, FileExistsError):
                continue
            raise
        return path
    raise StorePathError(f"has {_TRIES} files named {name}", where=str(folder), todo="Clear it up")


def _write_new(path: Path, text: str) -> None:
    files.refuse_store(path)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
    except FileExistsError as error:
        raise StorePathError("the file exists", where=str(path), todo="Name another one") from error
    except OSError as error:
        raise StorePathError(f"cannot be written: {error.strerror}", where=str(path), todo="Check the path") from error


# --------------------------------------------------------------------------------------------


def left_out(plan: Plan, only: Collection[str], skip: Collection[str]) -> frozenset[str]:
    """Ids of the actions that `only` and `skip` leave out; a type may be named even if the plan has none of it.

    Raises:
        InvalidPlan: A name that is neither an action type nor an action of the plan.
    """
    known = {*(action.id for action in plan.actions), *ACTION_TYPES}
    for name in (*only, *skip):
        if name not in known:
            raise InvalidPlan(
                f"there is no action {name[:80]!r}",
                where=f"plan {plan.plan_id}",
                todo=f"Use an id from the plan, or one of {', '.join(ACTION_TYPES)}",
            )
    wanted, unwanted = frozenset(only), frozenset(skip)
    return frozenset(
        action.id
        for action in plan.actions
        if not unwanted.isdisjoint((action.id, action.type)) or (wanted and wanted.isdisjoint((action.id, action.type)))
    )
