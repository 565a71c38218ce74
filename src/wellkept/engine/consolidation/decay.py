"""The decay pass: lifecycle counts per kind, and the plan that archives faded memories."""

from __future__ import annotations

from datetime import timedelta

from wellkept.core.consolidation.upkeep_rules import Aging, DecayReport, fading, fading_plan
from wellkept.engine.base.context import Context
from wellkept.engine.consolidation.scope import rows_in
from wellkept.types import Scope


def decay(ctx: Context, aging: Aging | None = None, scope: Scope | None = None) -> DecayReport:
    """The effect of time on this namespace; nothing is written.

    Args:
        ctx: The store.
        aging: Rules and times to live; by default expiry and fading.
        scope: Which memories; all active ones by default.

    Returns:
        Counts by kind, recently faded memories, and the plan. The pass changes no lifecycle stage: stages
        are computed from time and use alone.

    Raises:
        UnknownKind: The policy does not know a kind of the scope or of the times to live.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     _ = store.remember("Tea is upstairs.", kind="note", expires_at="2020-01-01")
        ...     report = decay(store._ctx)
        >>> report.kinds[0].active, [(action.type, action.rationale.reasons) for action in report.plan.actions]
        (1, [('archive', ('it has expired',))])
    """
    aging = aging if aging is not None else Aging()
    scope = scope if scope is not None else Scope()
    for kind in (*scope.kinds, *aging.ttl):
        ctx.policy.for_kind(kind)
    now = ctx.clock()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        rows = rows_in(tx, scope)
        conflicts = tx.conflicts()
    kinds, transitions = fading(rows, ctx.policy, now=now, days=aging.days)
    plan = fading_plan(rows, conflicts, aging, policy=ctx.policy, namespace=ctx.namespace, scope=scope, now=now)
    return DecayReport(kinds=kinds, transitions=transitions, since=now - timedelta(days=aging.days), plan=plan)
