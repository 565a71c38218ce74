"""Packs and groups of hits: what the store and the relation model add to the pure rules.

Recorded contradictions and the model's word are gathered here; `core.grouping` decides what is one
thing, `core.pack` what fits. The model is asked outside transactions and about few pairs; when it
fails, repeats in other words stay apart and the pack says `degraded` (I7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from wellkept.core.grouping import BY_WORDS, Pair, grouped, open_pairs
from wellkept.core.pack import packed
from wellkept.core.questions import CLOSE_AT
from wellkept.core.vectors import cosines
from wellkept.engine.context import Context
from wellkept.engine.opinions import Opinions
from wellkept.engine.read import note_use
from wellkept.types import Degradation, Hit, Memory, Opinion
from wellkept.types.packs import Group, Pack, PackSpec

MOST_ASKED = 24
"""Pairs that one reading may cost; a group of five repeats in other words takes ten."""

_LEAST, _MOST = 10, 100
_TOKENS_OF_AN_ITEM = 20
_ALIKE: Sequence[str] = ("decision", "episode")


def limit_for(spec: PackSpec) -> int:
    """How many hits may be of use for a budget: an item seldom costs less than twenty tokens."""
    return min(_MOST, max(_LEAST, spec.budget_tokens // _TOKENS_OF_AN_ITEM))


def pack(ctx: Context, hits: Sequence[Hit], spec: PackSpec, *, touch: bool = True) -> Pack:
    """The hits as a text block within a budget, each thing once; what was handed out is remembered and counted.

    Args:
        hits: What recall found, best first, not counted as used yet.
        spec: Budget, format, what to exclude, for which session.
        touch: Count what is shown as used. What was left out was not used.
    """
    groups, degraded = each_once(ctx, hits)
    made = packed(groups, spec)
    shown = [hit.memory for group in made.groups for hit in group.members]
    ctx.handed.note(ctx.namespace, spec.session, shown)
    if touch:
        note_use(ctx, [group.shown.memory for group in made.groups if group.shown.memory.status == "active"])
    return replace(made, degraded=tuple(dict.fromkeys((*made.degraded, *degraded))))


def each_once(ctx: Context, hits: Sequence[Hit]) -> tuple[tuple[Group, ...], tuple[Degradation, ...]]:
    """The hits as groups (B-26), and what could not run."""
    apart, near = _known(ctx, hits)
    opinions = Opinions(ctx.relation_model)
    told: dict[Pair, Opinion] = {}
    if opinions.available and near:
        first = islice(open_pairs(hits, apart=apart, near=near), MOST_ASKED)
        asked = [(older.content, newer.content) for older, newer in first]
        opinions.ask(asked)
        told = opinions.told(asked)
    known = ctx.policy.kinds  # a row may be of a kind that the policy no longer knows
    policies = {kind: found for kind in _kinds(hits) if (found := known.get(kind) or known.get("*")) is not None}
    sure_at = {kind: opinions.bounds(policy.risk).skip for kind, policy in policies.items()} if told else {}
    by_words = {kind: BY_WORDS[policy.preset] for kind, policy in policies.items() if policy.preset in _ALIKE}
    groups = grouped(hits, opinions=told, sure_at=sure_at, apart=apart, by_words=by_words)
    return groups, () if opinions.available or len(hits) < 2 else ("relation",)


def _kinds(hits: Sequence[Hit]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(hit.memory.kind for hit in hits))


def _known(ctx: Context, hits: Sequence[Hit]) -> tuple[frozenset[frozenset[str]], frozenset[frozenset[str]]]:
    """Pairs of ids that contradict each other, also where that has been looked at; and pairs near in meaning.

    A contradiction that was dismissed is none (S1-31).
    """
    rows = {hit.memory.id: hit.memory for hit in hits}
    if len(rows) < 2:
        return frozenset(), frozenset()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        found = tx.conflicts(ids=tuple(rows))
        stored = tx.vectors([row.embedding for row in rows.values() if row.embedding]) if ctx.relation_model else {}
    apart = frozenset(
        frozenset((item.a, item.b))
        for item in found
        if item.kind == "contradiction" and item.resolution not in ("dismissed", "merge")
    )
    held = [row for row in rows.values() if row.embedding in stored]
    return apart, frozenset(_near(ctx, held, np.asarray([stored[row.embedding] for row in held])) if held else ())


def _near(ctx: Context, rows: Sequence[Memory], vectors: NDArray[np.float32]) -> set[frozenset[str]]:
    """Below this similarity a repeat is so seldom that asking is not worth its time (B-31)."""
    floor = ctx.scale.calibration.cosine(CLOSE_AT)
    near = set()
    for place, row in enumerate(rows):
        close = cosines(vectors[place], vectors) >= floor
        near |= {frozenset((row.id, rows[other].id)) for other in np.flatnonzero(close).tolist() if other != place}
    return near
