"""Packs: repeats grouped, cut to the token budget, handed-out texts recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wellkept.core.recall.pack import packed
from wellkept.engine.base.context import Context
from wellkept.engine.base.opinions import Opinions
from wellkept.engine.lookup.read import note_use
from wellkept.engine.recall import repeats
from wellkept.engine.recall.recorded_relations import Recorded
from wellkept.errors import InvalidField, use_one_of
from wellkept.types import Filter, Hit, PackOptions
from wellkept.types.packs import Pack, PackSpec

_LEAST, _MOST = 10, 100
_TOKENS_OF_AN_ITEM = 20


def limit_for(spec: PackSpec) -> int:
    """How many hits a budget can hold: an item rarely costs less than twenty tokens."""
    return min(_MOST, max(_LEAST, spec.budget_tokens // _TOKENS_OF_AN_ITEM))


def min_score_of(options: PackOptions) -> float | None:
    """The floor among the options.

    Raises:
        InvalidField: There is another option.
    """
    unknown = [name for name in options if name not in PackOptions.__annotations__]
    if unknown:
        raise InvalidField("unknown option", where=unknown[0], todo=use_one_of(unknown[0], PackOptions.__annotations__))
    return options.get("min_score")


def wanted(ctx: Context, where: Filter | None, spec: PackSpec) -> Filter | None:
    """The filter, limited to decision kinds when only decisions are listed.

    Raises:
        InvalidField: The filter names kinds, and none of them is a decision.
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
    """The hits as a text block within a budget, without repeats; the shown memories are recorded and counted.

    Args:
        hits: Result of recall, best first, not grouped, not counted as used yet.
        spec: Budget, format, exclusions, session.
        touch: Count the shown memories as used. Memories left out are not counted.
    """
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        known = repeats.known(ctx, tx, hits, Recorded.of(tx, hits), for_model=True)
    groups, degraded = repeats.each_once(ctx, hits, known, Opinions(ctx), limit=max(1, len(hits)))
    made = packed(groups, spec)
    hits = [hit for group in made.groups for hit in (*group.members, *group.before)]
    worded = [hit.wording for hit in hits if hit.wording is not None]
    ctx.handed.note(ctx.namespace, spec.session, [*(hit.memory for hit in hits), *worded])
    if touch:
        shown = [hit.memory for group in made.groups for hit in (group.shown, *group.before)]
        note_use(ctx, [memory for memory in shown if memory.status == "active"])
    return replace(made, degraded=tuple(dict.fromkeys((*made.degraded, *degraded))))
