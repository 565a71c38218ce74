"""One consolidation pass: execute or report a plan, with log lines, report file and kill switch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

from wellkept.engine.base.context import Context, NewId
from wellkept.engine.consolidation import execution
from wellkept.engine.consolidation.reports import left_out
from wellkept.engine.consolidation.run_log import logged
from wellkept.errors import InvalidPlan
from wellkept.frozen import frozen
from wellkept.types import Plan, RunMode, RunReport

log = logging.getLogger("wellkept.consolidate")


@frozen(kw_only=True)
class Wish:
    """What to do with a plan.

    Args:
        execute: Apply the plan; otherwise only report it.
        only / skip: Ids or types of actions to apply, or to leave out.
        report: File or folder of the report; none by default.
    """

    execute: bool = False
    only: Collection[str] = ()
    skip: Collection[str] = ()
    report: str | Path | None = None


def passed(ctx: Context, plan: Plan, wish: Wish, *, progress: Callable[[int, int], None] | None = None) -> RunReport:
    """Execute or report a plan; the kill switch prevents execution.

    Args:
        ctx: The store.
        plan: The plan.
        wish: What to do with it.
        progress: Called after each action with the number done and the total.

    Raises:
        InvalidPlan: It is for another namespace, or `only` or `skip` names no possible action.
        StorePathError: The report cannot be written.
    """
    if plan.namespace != ctx.namespace:
        raise InvalidPlan(
            f"the plan is for namespace {plan.namespace!r}, not {ctx.namespace!r}",
            where=f"plan {plan.plan_id}",
            todo="Open the store in that namespace (--namespace)",
        )
    out = left_out(plan, wish.only, wish.skip)
    held = ctx.held() if wish.execute else ""
    if held:
        log.warning("nothing is executed: %s forces a dry run", held)
    own = ctx.new_id()
    ctx = replace(ctx, new_id=_with_first(own, ctx.new_id))

    def work() -> RunReport:
        if wish.execute and not held:
            return execution.execute(ctx, plan, skip=out, progress=progress)
        return execution.dry(ctx, plan, forced=held)

    mode: RunMode = "execute" if wish.execute and not held else "dry_run"
    return logged(plan, work, run_id=f"consolidate-{own}", mode=mode, target=wish.report)


def _with_first(first: str, rest: NewId) -> NewId:
    """An id generator whose first id is given, so that the log can name the run before it begins."""
    waiting = [first]
    return lambda: waiting.pop() if waiting else rest()
