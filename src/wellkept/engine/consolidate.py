"""Consolidation, the reading half: look at what is stored side by side, ask the models, make the plan.

Nothing here writes. The store is read in one snapshot; models are asked outside of it; the plan is
pure (`core/plan.py`). What changes in the meantime is found when the plan is executed (B-22).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from wellkept.core.bounds import NEVER, Bounds
from wellkept.core.findings import (
    Court,
    Finding,
    Near,
    comparable,
    exact_groups,
    families,
    is_open,
    judged,
    nearest_only,
    of_one_subject,
    order_of,
)
from wellkept.core.near import near_pairs
from wellkept.core.plan import Setting, Survey, plan_of
from wellkept.core.rules import Consolidation
from wellkept.core.text import slot_key
from wellkept.core.vectors import cosine
from wellkept.engine.context import Context
from wellkept.engine.opinions import Opinions
from wellkept.storage.port import Tx
from wellkept.types import ALL_STATUSES, Conflict, Filter, Link, Memory, Plan, Scope, Vector

Progress = Callable[[str, int, int], None]
"""Told which step, how much of it is done, and how much there is."""

MOST_ROWS = 1_000_000
_PAGE = 5_000
_ASK_AT_ONCE = 256
_TOLD_EVERY = 2_000


def plan(
    ctx: Context, config: Consolidation | None = None, scope: Scope | None = None, *, progress: Progress | None = None
) -> Plan:
    """What a consolidation of this namespace would do; nothing is written.

    Args:
        ctx: The store.
        config: Rules and thresholds; S1's own by default.
        scope: Which memories; all active ones by default.
        progress: Told how far it is.

    Returns:
        The plan; the same for the same store, policy, rules and models (S1-5).
    """
    config = config if config is not None else Consolidation()
    scope = scope if scope is not None else Scope()
    tell = progress if progress is not None else _quiet
    now = ctx.clock()
    ctx.scale.prepare()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        rows = _rows(tx, scope)
        tell("read", len(rows), len(rows))
        vectors = tx.vectors({row.embedding for row in rows if row.embedding})
    groups = exact_groups(rows, ctx.policy)
    nears = _nears(ctx, _without_repeats(rows, groups), vectors, config)
    del vectors
    findings, degraded, asked = _judged(ctx, nears, config, tell)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        links = tuple(tx.links(concerned)) if (concerned := _concerned(groups, findings)) else ()
        survey = Survey(
            rows=rows,
            groups=tuple(groups),
            findings=tuple(findings),
            conflicts=_conflicts(tx, rows),
            links=links,
            hidden=_hidden(tx, links, frozenset(concerned)),
            asked=asked,
            degraded=degraded,
        )
    models = (ctx.embedder.id, ctx.relation_model.id if ctx.relation_model is not None else "")
    return plan_of(
        survey,
        Setting(policy=ctx.policy, config=config, scope=scope, namespace=ctx.namespace, models=models, now=now),
    )


def _quiet(step: str, done: int, whole: int) -> None:
    pass


def _rows(tx: Tx, scope: Scope) -> tuple[Memory, ...]:
    """The active memories of the scope in the order of S1-24, read page by page."""
    found: list[Memory] = []
    after = None
    while len(found) < MOST_ROWS:
        where = Filter(kinds=scope.kinds, tags=(), created_from=scope.created_from, after=after)
        page = tx.find(where, limit=_PAGE)
        found += [row for row in page if _in_scope(row, scope)]
        if len(page) < _PAGE:
            break
        after = (page[-1].created_at, page[-1].id)
    found.sort(key=order_of)
    return tuple(found[-scope.limit :] if scope.limit else found)


def _in_scope(row: Memory, scope: Scope) -> bool:
    if scope.created_to is not None and row.created_at >= scope.created_to:
        return False
    wanted = {slot_key(tag) for tag in scope.tags}
    return not wanted or not wanted.isdisjoint(slot_key(tag) for tag in row.tags)


def _without_repeats(rows: Sequence[Memory], groups: Iterable[tuple[Memory, ...]]) -> list[Memory]:
    """Of each group of equal texts only the newest is compared with others."""
    left_out = {row.id for group in groups for row in group[:-1]}
    return [row for row in rows if row.id not in left_out]


# --------------------------------------------------------------------------------------------
# Pairs


def _nears(ctx: Context, rows: Sequence[Memory], vectors: Mapping[str, Vector], config: Consolidation) -> list[Near]:
    """Pairs worth a comparison: near by vector, or about the same attribute of the same subject."""
    calibration = ctx.scale.calibration
    found: dict[tuple[str, str], Near] = {}
    for family in families(rows, ctx.policy):
        with_vector = [row for row in family if row.embedding in vectors]
        if len(with_vector) < 2:
            continue
        matrix = np.asarray([vectors[row.embedding] for row in with_vector], dtype=np.float32)
        first, second, cosines = near_pairs(
            matrix,
            floor=calibration.cosine(config.look_at),
            all_from=calibration.cosine(min(config.merge_at, 1.0)),
            nearest=config.nearest,
        )
        for a, b, raw in zip(first.tolist(), second.tolist(), cosines.tolist(), strict=True):
            near = Near(with_vector[a], with_vector[b], raw, calibration.similarity(raw))
            if comparable(near, ctx.policy):
                found[near.key] = near
    for old, new in of_one_subject(rows):
        if (old.id, new.id) not in found:
            near = _slot_pair(old, new, vectors, ctx)
            if comparable(near, ctx.policy):
                found[near.key] = near
    place = {row.id: at for at, row in enumerate(rows)}
    return sorted(found.values(), key=lambda near: (place[near.b.id], place[near.a.id]))


def _slot_pair(old: Memory, new: Memory, vectors: Mapping[str, Vector], ctx: Context) -> Near:
    ours, theirs = vectors.get(old.embedding), vectors.get(new.embedding)
    if ours is None or theirs is None:
        return Near(old, new, None, None)
    raw = cosine(ours, theirs)
    return Near(old, new, raw, ctx.scale.calibration.similarity(raw))


def _judged(
    ctx: Context, nears: Sequence[Near], config: Consolidation, tell: Progress
) -> tuple[list[Finding], tuple[str, ...], int]:
    """The pairs with their verdicts, what could not run, and how many the relation model read."""
    opinions = Opinions(ctx.relation_model)
    asked = [near for near in nears if is_open(near, ask_at=config.ask_at)] if opinions.available else []
    pairs = [(near.a.content, near.b.content) for near in asked]
    for start in range(0, len(pairs), _ASK_AT_ONCE):
        opinions.ask(pairs[start : start + _ASK_AT_ONCE])
        tell("ask", min(start + _ASK_AT_ONCE, len(pairs)), len(pairs))
    known: dict[str, Bounds] = {}

    def bounds_of(kind: str) -> Bounds:
        if kind not in known:
            known[kind] = opinions.bounds(ctx.policy.for_kind(kind).risk) if opinions.available else NEVER
        return known[kind]

    said = {
        (near.a.content, near.b.content): opinion
        for near in asked
        for opinion in opinions.of(near.b.content, (near.a,)).values()
    }
    court = Court(policy=ctx.policy, bounds_of=bounds_of, opinions=said, lexical=ctx.embedder.lexical)
    findings = []
    for at, near in enumerate(nears, start=1):
        findings.append(judged(near, court))
        if at % _TOLD_EVERY == 0:
            tell("compare", at, len(nears))
    degraded: tuple[str, ...] = () if opinions.available else ("relation",)
    if ctx.embedder.lexical:
        degraded += ("lexical",)
    return nearest_only(findings), degraded + tuple(ctx.scale.degraded), len(said)


# --------------------------------------------------------------------------------------------
# What stands around the pairs


def _concerned(groups: Iterable[tuple[Memory, ...]], findings: Iterable[Finding]) -> list[str]:
    """Ids that a merge may touch."""
    ids = {row.id for group in groups for row in group}
    ids |= {one for found in findings if found.verdict == "same" for one in found.near.key}
    return sorted(ids)


def _conflicts(tx: Tx, rows: Sequence[Memory]) -> tuple[Conflict, ...]:
    there = {row.id for row in rows}
    return tuple(item for item in tx.conflicts() if item.a in there or item.b in there)


def _hidden(tx: Tx, links: Iterable[Link], ids: frozenset[str]) -> dict[str, tuple[Memory, ...]]:
    """Superseded rows behind these, which must not lose their head when it is merged away."""
    behind = tuple(dict.fromkeys(link.dst for link in links if link.rel == "supersedes" and link.src in ids))
    found: dict[str, tuple[Memory, ...]] = {}
    for row in tx.find(Filter(ids=behind, statuses=ALL_STATUSES)) if behind else ():
        if row.status == "superseded" and row.superseded_by in ids:
            found[row.superseded_by] = (*found.get(row.superseded_by, ()), row)
    return found
