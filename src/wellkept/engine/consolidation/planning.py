"""Consolidation planning: compare stored memories, ask the models, make the plan.

Nothing here writes. The store is read in one snapshot; models are asked outside of it; the plan is pure
(`core/consolidation/plan.py`). Changes made in the meantime are detected on execution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np

from wellkept.core.consolidation.findings import (
    Court,
    Finding,
    Near,
    Nears,
    Patience,
    comparable,
    exact_groups,
    families,
    is_open,
    is_plainly_apart,
    is_readable,
    judged,
    looked_at,
    nearest_only,
    of_one_frame,
    of_one_subject,
    order_of,
    says_something,
)
from wellkept.core.consolidation.merged_memory import merged_from
from wellkept.core.consolidation.near_pairs import near_pairs
from wellkept.core.consolidation.plan import Setting, Survey, plan_of
from wellkept.core.consolidation.repointing import behind, heirs
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.judging.compare import LONG_TEXT
from wellkept.core.judging.evidence import rests_on_words
from wellkept.core.judging.risk_bounds import NEVER, Bounds
from wellkept.core.judging.second_look import SecondLook
from wellkept.core.records.lifecycle import is_expired
from wellkept.core.records.vectors import cosine
from wellkept.core.text.forms import canonical
from wellkept.engine.base.context import Context
from wellkept.engine.base.opinions import Opinions
from wellkept.engine.consolidation.scope import rows_in
from wellkept.engine.consolidation.second_looks import SecondLooks
from wellkept.engine.gate.bare_texts import bare, is_worth_it, nearer
from wellkept.engine.models.embedding import Embeddings
from wellkept.errors import InvalidField
from wellkept.policy import Policy
from wellkept.storage.port import Tx
from wellkept.types import ALL_STATUSES, Comparison, Conflict, Filter, Link, Memory, Opinion, Plan, Scope, Vector

Progress = Callable[[str, int, int], None]
"""Called with the step, the number done and the total."""

_AT_ONCE = 1_024
_MOST_SPOKEN = 12
"""Maximum number of texts of one memory that a further merge is checked against."""


def plan(
    ctx: Context, config: Consolidation | None = None, scope: Scope | None = None, *, progress: Progress | None = None
) -> Plan:
    """The proposed changes of a consolidation of this namespace; nothing is written.

    Args:
        ctx: The store.
        config: Rules and thresholds; the built-in ones by default.
        scope: Which memories; all active ones by default.
        progress: Called with the step, the number done and the total.

    Returns:
        The plan. The same store, policy, rules and models give the same plan.

    Raises:
        InvalidField: The scope is invalid.
    """
    config = config if config is not None else Consolidation()
    scope = _sound(scope if scope is not None else Scope())
    tell = progress if progress is not None else _quiet
    now = ctx.clock()
    ctx.scale.prepare()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        everything = rows_in(tx, scope)
        rows = tuple(row for row in everything if is_known(row.kind, ctx.policy))
        tell("read", len(rows), len(rows))
        vectors = tx.vectors({row.embedding for row in rows if row.embedding})
        again = SecondLooks.of(ctx, tx, config, rows)
    holding = [row for row in rows if not is_expired(row, now)]  # expired memories are left out, as at the gate
    canonical_of = _canonical_once()
    groups = exact_groups(holding, ctx.policy, canonical_of)
    nears = _nears(ctx, _without_repeats(holding, groups), vectors, config, canonical_of)
    del canonical_of
    bench = _Bench(ctx, config, tell)
    if again is None:
        del vectors
    findings = _agreed_before(ctx, bench, nearest_only(bench.judged(nears)))
    looks = () if again is None else again.looks(_oldest_only(holding, groups), vectors, bench.opinions, tell)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        links = tuple(tx.links(concerned)) if (concerned := _concerned(groups, findings, looks)) else ()
        survey = Survey(
            rows=rows,
            groups=tuple(groups),
            findings=tuple(findings),
            looks=looks,
            conflicts=_conflicts(tx, rows),
            links=links,
            hidden=_hidden(tx, links, frozenset(concerned)),
            asked=bench.asked + (0 if again is None else again.asked),
            compared=bench.compared,
            degraded=bench.degraded + (("unknown_kind",) if len(rows) < len(everything) else ()),
        )
    models = (ctx.embedder.id, reader.id if (reader := ctx.reader) is not None else "")
    return plan_of(
        survey,
        Setting(policy=ctx.policy, config=config, scope=scope, namespace=ctx.namespace, models=models, now=now),
    )


def _quiet(step: str, done: int, whole: int) -> None:
    pass


def is_known(kind: str, policy: Policy) -> bool:
    """Whether the policy contains a kind; memories of unknown kinds are left alone, and the plan reports it."""
    return kind in policy.kinds or "*" in policy.kinds


def _sound(scope: Scope) -> Scope:
    """Refuse a scope that would silently mean something else."""
    if scope.limit is not None and (isinstance(scope.limit, bool) or scope.limit < 0):
        raise InvalidField(f"{scope.limit!r} is not a number of memories", where="limit", todo="Use 0 or more, or none")
    for name in ("created_from", "created_to"):
        at = getattr(scope, name)
        if at is not None and at.tzinfo is None:
            raise InvalidField("a time has no zone", where=name, todo="Give it one, such as UTC")
    return scope


def _without_repeats(rows: Sequence[Memory], groups: Iterable[tuple[Memory, ...]]) -> list[Memory]:
    """The rows, with only the newest of each group of equal texts."""
    left_out = {row.id for group in groups for row in group[:-1]}
    return [row for row in rows if row.id not in left_out]


def _oldest_only(rows: Sequence[Memory], groups: Iterable[tuple[Memory, ...]]) -> list[Memory]:
    """The rows, with only the oldest of each group of equal texts, as the gate would have kept them."""
    left_out = {row.id for group in groups for row in group[1:]}
    return [row for row in rows if row.id not in left_out]


# --------------------------------------------------------------------------------------------
# Pairs


def _nears(
    ctx: Context,
    rows: Sequence[Memory],
    vectors: Mapping[str, Vector],
    config: Consolidation,
    canonical_of: Callable[[str], str],
) -> Nears:
    """Pairs worth a comparison: similar by vector, or about the same attribute of the same subject."""
    calibration = ctx.scale.calibration
    found = Nears(rows)
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
        raws = cosines.tolist()
        similarities = calibration.similarities(raws)
        for a, b, raw, similarity in zip(first.tolist(), second.tolist(), raws, similarities, strict=True):
            near = Near(with_vector[a], with_vector[b], raw, similarity)
            if comparable(near, ctx.policy):
                found.add(near)
    for old, new in (*of_one_subject(rows), *of_one_frame(rows, canonical_of)):
        if not found.has(old, new):
            near = _near(ctx, old, new, vectors)
            if comparable(near, ctx.policy):
                found.add(near)
    return found


def _canonical_once() -> Callable[[str], str]:
    """`canonical`, which remembers every short text: those of a large store do not fit into its own cache."""
    of_short = cache(canonical)
    return lambda text: of_short(text) if len(text) <= LONG_TEXT else canonical(text)


def _near(ctx: Context, old: Memory, new: Memory, vectors: Mapping[str, Vector]) -> Near:
    ours, theirs = vectors.get(old.embedding), vectors.get(new.embedding)
    if ours is None or theirs is None:
        return Near(old, new, None, None)
    raw = cosine(ours, theirs)
    return Near(old, new, raw, ctx.scale.calibration.similarity(raw))


class _Bench:
    """Judges pairs: asks the relation model about pairs that the rules leave open; records failures.

    Attributes:
        asked: Pairs on which the model gave an opinion.
        compared: Pairs that were compared.
        opinions: The opinions so far.
    """

    def __init__(self, ctx: Context, config: Consolidation, tell: Progress) -> None:
        self._ctx = ctx
        self._config = config
        self._tell = tell
        self.opinions = Opinions(ctx)
        self._bounds: dict[str, Bounds] = {}
        self._nearest: frozenset[tuple[str, str]] | None = None
        self.asked = 0
        self.compared = 0

    @property
    def degraded(self) -> tuple[str, ...]:
        """Components that failed or were unavailable; their findings are missing."""
        missing: tuple[str, ...] = () if self.opinions.complete else ("relation",)
        if self._ctx.embedder.lexical:
            missing += ("lexical",)
        return missing + tuple(self._ctx.scale.degraded)

    def judged(self, nears: Nears) -> list[Finding]:
        """The findings that matter for a plan."""
        self._nearest = nears.nearest()
        patience = Patience()
        return [one for one in self._told(nears.in_turn(_AT_ONCE), len(nears), patience) if says_something(one)]

    def judged_all(self, nears: Sequence[Near]) -> list[Finding]:
        """The findings of all pairs."""
        self._nearest = None
        pages = (nears[start : start + _AT_ONCE] for start in range(0, len(nears), _AT_ONCE))
        return list(self._told(pages, len(nears), None))

    def _told(self, pages: Iterable[Sequence[Near]], whole: int, patience: Patience | None) -> Iterator[Finding]:
        done = 0
        for page in pages:
            yield from self._page(self._looked_at(page, patience))
            done += len(page)
            self._tell("compare", done, whole)

    def _looked_at(self, nears: Sequence[Near], patience: Patience | None) -> list[tuple[Near, Comparison, bool]]:
        """The rules' comparison of each pair, and whether the rules leave it open for the relation model.

        With patience the pairs are left out that are apart without a closer look: a plan says nothing of them.
        """
        found = []
        ask_at, opposites = self._config.ask_at, self._ctx.policy.opposites
        for near in nears:
            if patience is not None and patience.is_out(near):
                continue
            self.compared += 1
            may_ask = self.opinions.available and is_readable(near, ask_at=ask_at) and self._is_worth_asking(near)
            if patience is not None and not may_ask and is_plainly_apart(near, opposites):
                patience.told(near, conflict=False)
                continue
            told = looked_at(near, opposites)
            is_left = may_ask and is_open(near, told, ask_at=ask_at)
            if patience is not None and not is_left:
                patience.told(near, conflict=told.relation == "conflict")
            found.append((near, told, is_left))
        return found

    def _is_worth_asking(self, near: Near) -> bool:
        """Whether the model's opinion could change the plan: the pair may merge, or is its newer memory's nearest pair.

        Of contradictions found by the model only that of the nearest pair is flagged, and reading pairs is the most
        expensive step: on 30,000 sentences four in five pairs could not have changed the plan.
        """
        if self._nearest is None or near.key in self._nearest:
            return True
        if (near.similarity or 0.0) < self._config.merge_at:
            return False
        return rests_on_words(near.b, near.a, near.similarity, self._bounds_of(near.b.kind))

    def _page(self, part: Sequence[tuple[Near, Comparison, bool]]) -> Iterator[Finding]:
        opinions = self.opinions
        asked = [(near.a.content, near.b.content) for near, _, is_left in part if is_left]
        opinions.ask(asked)
        said = opinions.told(asked)
        self.asked += len(said)
        court = Court(
            policy=self._ctx.policy, bounds_of=self._bounds_of, opinions=said, lexical=self._ctx.embedder.lexical
        )
        untitled = self._without_titles([(near, told) for near, told, _ in part], said)
        for near, told, _ in part:
            found = untitled.get(near.key)
            if found is not None:
                near, told = found, looked_at(found, court.policy.opposites)
            yield judged(near, court, told)

    def _without_titles(
        self, pairs: Sequence[tuple[Near, Comparison]], said: Mapping[tuple[str, str], Opinion]
    ) -> dict[tuple[str, str], Near]:
        """Likely duplicates and contradictions under different titles, with the similarity of their bare texts."""
        found = [
            near
            for near, told in pairs
            if is_worth_it(
                near.b,
                near.a,
                told.relation,
                said.get((near.a.content, near.b.content)),
                self._bounds_of(near.b.kind),
            )
        ]
        vectors = Embeddings(self._ctx.embedder)
        vectors.fetch(text for near in found for text in bare(near.b, near.a))
        nearest = {}
        for near in found:
            raw = nearer(near.cosine, near.b, near.a, vectors)
            similarity = near.similarity if raw is None else self._ctx.scale.calibration.similarity(raw)
            nearest[near.key] = replace(near, cosine=raw, similarity=similarity)
        return nearest

    def may_merge(self, found: Finding) -> bool:
        """Whether a pair says the same and is similar enough for any merge rule."""
        return found.verdict == "same" and (found.near.similarity or 0.0) >= self._config.merge_at

    def _bounds_of(self, kind: str) -> Bounds:
        if kind not in self._bounds:
            risk = self._ctx.policy.for_kind(kind).risk
            self._bounds[kind] = self.opinions.bounds(risk) if self.opinions.available else NEVER
        return self._bounds[kind]


def _agreed_before(ctx: Context, bench: _Bench, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, without pairs in which only the current texts say the same.

    Texts merged into a memory by earlier runs are part of it, so they must say the same as well. Otherwise
    repeated runs would chain neighbours together and lose complete linkage.
    """
    grown = [one for one in findings if bench.may_merge(one) and (merged_from(one.near.a) or merged_from(one.near.b))]
    if not grown:
        return list(findings)
    ids = {name for one in grown for row in (one.near.a, one.near.b) for name in merged_from(row)}
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        former = {row.id: row for row in tx.find(Filter(ids=tuple(sorted(ids)), statuses=ALL_STATUSES))}
        whole = {row.id: row for one in grown for row in (one.near.a, one.near.b)} | former
        vectors = tx.vectors({row.embedding for row in whole.values() if row.embedding})
    crossed: dict[tuple[str, str], list[Near]] = {}
    for one in grown:
        ours, theirs = (_spoken(row, former) for row in (one.near.a, one.near.b))
        pairs = [sorted(pair, key=order_of) for pair in product(ours, theirs)]
        crossed[one.near.key] = [_near(ctx, old, new, vectors) for old, new in pairs if old.id != new.id]
    wanted = {near.key: near for nears in crossed.values() for near in nears}
    apart = {found.near.key for found in bench.judged_all(list(wanted.values())) if not bench.may_merge(found)}
    refused = {key for key, nears in crossed.items() if any(near.key in apart for near in nears)}
    return [replace(one, verdict="apart") if one.near.key in refused else one for one in findings]


def _spoken(row: Memory, former: Mapping[str, Memory]) -> list[Memory]:
    """A memory and the memories merged into it, one per text; at most the newest of them."""
    texts = {canonical(row.content): row}
    for name in reversed(merged_from(row)):
        other = former.get(name)
        if other is not None and other.content and len(texts) < _MOST_SPOKEN:
            texts.setdefault(canonical(other.content), other)
    return list(texts.values())


# --------------------------------------------------------------------------------------------
# Conflicts and superseded memories around the pairs


def _concerned(
    groups: Iterable[tuple[Memory, ...]], findings: Iterable[Finding], looks: Iterable[SecondLook]
) -> list[str]:
    """Ids of the memories that a merge or a fold may change."""
    ids = {row.id for group in groups for row in group}
    ids |= {one for look in looks if look.head for one in (look.memory_id, look.head)}
    ids |= {one for found in findings if found.verdict == "same" for one in found.near.key}
    return sorted(ids)


def _conflicts(tx: Tx, rows: Sequence[Memory]) -> tuple[Conflict, ...]:
    """Conflicts of the rows, and of memories that earlier runs merged into them."""
    there = {row.id for row in rows} | heirs(rows).keys()
    return tuple(item for item in tx.conflicts() if item.a in there or item.b in there)


def _hidden(tx: Tx, links: Iterable[Link], ids: frozenset[str]) -> dict[str, tuple[Memory, ...]]:
    """Superseded rows and wordings behind these, which must keep what they stand behind when it is merged away."""
    ends = behind(links, ids)
    found: dict[str, tuple[Memory, ...]] = {}
    for row in tx.find(Filter(ids=ends, statuses=("superseded", "wording"))) if ends else ():
        if row.superseded_by in ids:
            found[row.superseded_by] = (*found.get(row.superseded_by, ()), row)
    return found
