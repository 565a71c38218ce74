"""Packs: repeats grouped, cut to the budget, and what is handed out remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wellkept.core.recall.pack import packed
from wellkept.engine.base.context import Context
from wellkept.engine.base.opinions import Opinions
from wellkept.engine.lookup.read import note_use
from wellkept.engine.recall import repeats
from wellkept.errors import InvalidField
from wellkept.types import Filter, Hit
from wellkept.types.packs import Pack, PackSpec

_LEAST, _MOST = 10, 100
_TOKENS_OF_AN_ITEM = 20


def limit_for(spec: PackSpec) -> int:
    """How many hits may be of use for a budget: an item seldom costs less than twenty tokens."""
    return min(_MOST, max(_LEAST, spec.budget_tokens // _TOKENS_OF_AN_ITEM))


def wanted(ctx: Context, where: Filter | None, spec: PackSpec) -> Filter | None:
    """The filter, narrowed to the kinds that are decisions where only those are listed.

    Raises:
        InvalidField: It names kinds, and none of them is a decision.
    """
    if spec.format != "decisions":
        return where
    decisions = tuple(kind for kind, policy in ctx.policy.kinds.items() if policy.preset == "decision" and kind != "*")
    asked = where.kinds if where is not None and where.kinds else decisions
    kinds = tuple(kind for kind in asked if kind in decisions)
    if not kinds:
        todo = f"Use one of: {', '.join(decisions)}" if decisions else "Give a kind the preset 'decision' in the policy"
        raise InvalidField("holds no kind that is a decision", where="where.kinds", todo=todo)
    return replace(where or Filter(), kinds=kinds)


def pack(ctx: Context, hits: Sequence[Hit], spec: PackSpec, *, touch: bool = True) -> Pack:
    """The hits as a text block within a budget, each thing once; what was handed out is remembered and counted.

    Args:
        hits: What recall found, best first, each by itself, not counted as used yet.
        spec: Budget, format, what to exclude, for which session.
        touch: Count what is shown as used. What was left out was not used.
    """
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        known = repeats.known(ctx, tx, hits, for_model=True)
    groups, degraded = repeats.each_once(ctx, hits, known, Opinions(ctx), limit=max(1, len(hits)))
    made = packed(groups, spec)
    shown = [hit.memory for group in made.groups for hit in group.members]
    ctx.handed.note(ctx.namespace, spec.session, shown)
    if touch:
        note_use(ctx, [group.shown.memory for group in made.groups if group.shown.memory.status == "active"])
    return replace(made, degraded=tuple(dict.fromkeys((*made.degraded, *degraded))))
