"""Health: counts, activity, problems and their repair, and the consolidation: look, choose, apply, take back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from wellkept.errors import InvalidPlan
from wellkept.server.page.frame import Visit
from wellkept.server.page.texts import day

_LOOKED_AT = 300
_DAYS = 30
_HIGH = 96
GROUPS: Mapping[str, tuple[str, ...]] = {
    "stored": ("created",),
    "known": ("duplicate", "restated", "reused"),
    "changed": ("superseded", "evolved", "merged", "folded", "keep_new", "keep_old", "merge"),
    "dropped": ("rejected",),
}
_MOST_PLANS = 20
_MOST_RUNS = 100


@dataclass(frozen=True, slots=True)
class Column:
    """The decisions of one day: their number by group, and the bars, each as group, y and height."""

    day: str
    counts: Mapping[str, int]
    bars: tuple[tuple[str, int, int], ...]


@dataclass
class Plans:
    """The plans that somebody has looked at, so that what is applied is what was seen. They are few, and in memory."""

    kept: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, namespace: str, plan: dict[str, Any]) -> None:
        """Keep a plan; the oldest one makes room."""
        with self.lock:
            self.kept[namespace, plan["plan_id"]] = plan
            while len(self.kept) > _MOST_PLANS:
                del self.kept[next(iter(self.kept))]

    def seen(self, namespace: str, plan_id: str) -> dict[str, Any]:
        """The plan that was looked at.

        Raises:
            InvalidPlan: It is no longer kept.
        """
        with self.lock:
            plan = self.kept.get((namespace, plan_id))
        if plan is None:
            raise InvalidPlan(
                "the plan is no longer kept here", where="plan", todo="Look at a new plan; nothing was done"
            )
        return plan


PLANS = Plans()


def show(visit: Visit) -> Response:
    """Counts and activity of the namespace, and its runs."""
    stats = visit.run("stats")
    newest = visit.run("journal", newest=_LOOKED_AT).entries
    return visit.show(
        "health.html",
        stats=stats,
        asking=visit.run("asking"),
        waiting=len(visit.run("queue_pending", limit=1_000).pending),
        columns=_columns(newest),
        groups=list(GROUPS),
        whole=len(newest) < _LOOKED_AT,
        high=_HIGH,
    )


def runs(visit: Visit) -> Response:
    """The runs, newest first. The whole journal is read for them, so they have a page of their own."""
    found = visit.run("runs", limit=1_000).runs
    return visit.show("runs.html", room="health", runs=found[::-1][:_MOST_RUNS])


def _columns(entries: list[Any]) -> list[Column]:
    """The last days on which something was decided."""
    by_day: dict[str, Counter[str]] = {}
    names = {outcome: group for group, outcomes in GROUPS.items() for outcome in outcomes}
    for one in entries:
        if one.outcome in names and not one.undoes:
            by_day.setdefault(day(one.at), Counter())[names[one.outcome]] += 1
    highest = max((sum(counts.values()) for counts in by_day.values()), default=1)
    columns = []
    for name, counts in list(by_day.items())[-_DAYS:]:
        y, bars = _HIGH, []
        for group in GROUPS:
            height = round(_HIGH * counts[group] / highest)
            y -= height
            bars.append((group, y, height))
        columns.append(Column(name, dict(counts), tuple(bars)))
    return columns


# --------------------------------------------------------------------------------------------
# Problems


def check(visit: Visit) -> Response:
    """Look for problems, and repair what is safe to repair when the form asks for it; `undo` takes repairs back."""
    repaired = None
    if visit.sent("repair"):
        repaired = visit.store("admin").repair(dry_run=False)
    problems = visit.run("verify").problems
    return visit.show("problems.html", room="health", problems=problems, repaired=repaired)


# --------------------------------------------------------------------------------------------
# Consolidation


def plan(visit: Visit) -> Response:
    """Look at a plan; nothing is written."""
    made = visit.run("plan").model_dump(by_alias=True)
    PLANS.keep(visit.namespace, made)
    return visit.show("plan.html", room="health", plan=made)


def apply(visit: Visit) -> Response:
    """Apply the chosen actions of the plan that was looked at; what has changed since is left alone."""
    plan_id, chosen = visit.sent("plan_id"), list(dict.fromkeys(visit.form.get("action") or ()))
    made = PLANS.seen(visit.namespace, plan_id)
    if not chosen:
        return visit.show("plan.html", room="health", plan=made)
    report = visit.run("execute", plan=made, only=chosen)
    return visit.show("applied.html", room="health", report=report)
