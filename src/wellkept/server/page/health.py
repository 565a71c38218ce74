"""Health: counts, activity, problems and their repair, and the consolidation: look, choose, apply, take back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from starlette.responses import RedirectResponse, Response

from wellkept.core.consolidation.plan_file import plan_text
from wellkept.engine.consolidation.execution import undo_run
from wellkept.engine.consolidation.reports import summary_of
from wellkept.engine.verbs.store import MemoryStore
from wellkept.frozen import frozen
from wellkept.operations import outputs
from wellkept.operations.registry import operation
from wellkept.operations.shapes import as_output
from wellkept.server.page import work
from wellkept.server.page.frame import Visit
from wellkept.server.page.jobs import Shown, Tell
from wellkept.server.page.texts import day
from wellkept.types import Plan
from wellkept.types.showing import count_of

_DAYS = 30
_HIGH = 96
GROUPS: Mapping[str, tuple[str, ...]] = {
    "stored": ("created",),
    "restated": ("duplicate", "restated", "reused", "evolved", "merged", "folded"),
    "replaced": ("superseded", "keep_new", "keep_old"),
    "dropped": ("rejected", "archived"),
}
CONFLICTS = "conflicts"
"""By the day on which they were found; beside the bars, because the write that found one counts there already."""
_MOST_RUNS = 100


@frozen
class Column:
    """The decisions of one day: their number by group, the bars, each as group, y and height, and that of conflicts."""

    day: str
    counts: Mapping[str, int]
    bars: tuple[tuple[str, int, int], ...]
    conflicts: int


def show(visit: Visit) -> Response:
    """Counts and activity of the namespace, and the plans that wait."""
    stats, store = visit.run("stats"), visit.store()
    return visit.show(
        "health.html",
        stats=stats,
        asking=visit.run("asking"),
        waiting=len(visit.run("queue_pending", limit=1_000).pending),
        columns=_columns(counted(store)),
        groups=[*GROUPS, CONFLICTS],
        high=_HIGH,
        size=_size(store),
        model=reader.id if (reader := store._ctx.reader) is not None else "none: rules only",
        plans=visit.frame.plans.waiting(visit.namespace),
        running=visit.frame.jobs.running(work.owner(visit)),
    )


def runs(visit: Visit) -> Response:
    """The runs, newest first. The whole journal is read for them, so they have a page of their own."""
    found = visit.run("runs", limit=1_000).runs
    return visit.show("runs.html", room="health", runs=found[::-1][:_MOST_RUNS])


def _size(store: MemoryStore) -> int:
    """Bytes of the file; 0 where the store is not a file."""
    path = getattr(store._ctx.storage, "path", None)
    return path.stat().st_size if isinstance(path, Path) and path.exists() else 0


def counted(store: MemoryStore) -> dict[str, dict[str, int]]:
    """Decisions by day and group, days ascending."""
    names = {outcome: group for group, outcomes in GROUPS.items() for outcome in outcomes}
    found: dict[str, Counter[str]] = {}
    with store._ctx.storage.begin(store.namespace, write=False) as tx:
        for (name, outcome), count in tx.outcomes_by_day().items():
            if outcome in names:
                found.setdefault(name, Counter())[names[outcome]] += count
        for one in tx.conflicts():
            found.setdefault(one.created_at.strftime("%Y-%m-%d"), Counter())[CONFLICTS] += 1
    return {name: dict(found[name]) for name in sorted(found)}


def _columns(days: Mapping[str, Mapping[str, int]]) -> list[Column]:
    """The last days on which something was decided."""
    last = list(days.items())[-_DAYS:]
    tall = [max(sum(counts.get(group, 0) for group in GROUPS), counts.get(CONFLICTS, 0)) for _, counts in last]
    highest = max([1, *tall])
    columns = []
    for name, counts in last:
        y, bars = _HIGH, []
        for group in GROUPS:
            height = round(_HIGH * counts.get(group, 0) / highest)
            y -= height
            bars.append((group, y, height))
        beside = round(_HIGH * counts.get(CONFLICTS, 0) / highest)
        columns.append(Column(day(name), counts, tuple(bars), beside))
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
    store, namespace, plans = visit.store("admin"), visit.namespace, visit.frame.plans

    def compare(tell: Tell) -> Shown:
        made = store.plan(progress=tell)
        plans.keep(namespace, made)
        return lambda shown: _shown(shown, made)

    return work.start(visit, "Comparing", compare)


def look(visit: Visit) -> Response:
    """A plan that was looked at before and is not applied."""
    visit.store("admin")
    return _shown(visit, visit.frame.plans.seen(visit.namespace, str(visit.request.path_params["plan"])))


def _shown(visit: Visit, made: Plan) -> Response:
    readable = outputs.PlanFile.model_validate_json(plan_text(made)).model_dump(by_alias=True)
    return visit.show("plan.html", room="health", plan=readable)


def apply(visit: Visit) -> Response:
    """Apply the chosen actions of the plan that was looked at; what has changed since is left alone."""
    plan_id, chosen = visit.sent("plan_id"), list(filter(None, dict.fromkeys(visit.form.get("action") or ())))
    store, namespace, plans = visit.store("admin"), visit.namespace, visit.frame.plans
    made = plans.seen(namespace, plan_id)
    if visit.sent("leave"):
        plans.drop(namespace, plan_id)
        return visit.back(note="The plan is put aside; nothing was changed.")
    if not chosen:
        return _shown(visit, made)

    def act(tell: Tell) -> Shown:
        report = store.execute(made, only=chosen, progress=partial(tell, "apply"))
        plans.drop(namespace, plan_id)
        return lambda shown: shown.show(
            "applied.html", room="health", report=as_output(outputs.Run, summary_of(report))
        )

    return work.start(visit, "Applying", act)


def take_back(visit: Visit) -> Response:
    """Take a whole run back."""
    store, run_id = visit.store(operation("undo_run").scope), visit.sent("run_id")

    def act(tell: Tell) -> Shown:
        report = undo_run(store._ctx, run_id, progress=partial(tell, "take back"))
        note = f"Taken back: {count_of(len(report.undone), 'entry')}."
        return lambda shown: RedirectResponse(shown.at("health/runs", note=note), status_code=303)

    return work.start(visit, "Taking back", act)
