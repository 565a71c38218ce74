"""Recall: current memories about a query, best first, with reasons. A read never waits for a write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from wellkept.core.asking.state import state_of
from wellkept.core.recall import rank
from wellkept.core.recall.bm25 import document_terms, lexical_scores, query_terms, statistics
from wellkept.core.recall.reordering import Pair, reordered
from wellkept.core.recall.scoring import in_context
from wellkept.core.recall.wordings import best_first, heads_only
from wellkept.core.records.conflicts import is_open
from wellkept.core.text.titles import headed_texts
from wellkept.engine.base.context import Context
from wellkept.engine.base.opinions import Opinions
from wellkept.engine.lookup.open_questions import open_ones
from wellkept.engine.lookup.read import note_use
from wellkept.engine.models.embedding import Embeddings
from wellkept.engine.recall import candidates, expansion, floor, newer_first, repeats, same_sitting
from wellkept.engine.recall.candidates import Pool
from wellkept.engine.recall.question import Asked, Question, question
from wellkept.engine.recall.recorded_relations import Recorded
from wellkept.engine.recall.repeats import Known
from wellkept.engine.recall.reranking import reranked
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import Hit, Hits, LeftOut, Memory, Move

_Look: TypeAlias = Callable[[], AbstractContextManager[Tx]]
"""Opens a view of the store."""


@frozen
class _Seen:
    """Intermediate result: ordered hits, hidden memories, and what the store knows about repeats."""

    hits: tuple[Hit, ...]
    hidden: tuple[LeftOut, ...]
    known: Known


def recall(ctx: Context, query: str, asked: Asked) -> Hits:
    """Current memories relevant to the query, best first; see `MemoryStore.recall`.

    Steps: candidates that may be shown and match the filter, scores, order, grouping, the first `limit` hits,
    linked memories, open conflicts; at the end the use is counted.
    """
    vectors = Embeddings(ctx.embedder, on_failure="Recall without vectors, by words alone")
    q = question(query, asked, vectors, ctx.clock(), scale=ctx.scale.calibration, usual=ctx.hybrid_weights)
    look = _views(ctx, q, vectors)
    with ExitStack() as views:
        if not q.ask_model and not (q.rerank and ctx.reranker is not None):
            look = _only(views.enter_context(look()))  # no model is asked in between
        found = _found(ctx, q, look)
    if asked.touch and q.as_of is None:  # reading the past does not count as use
        note_use(ctx, [hit.memory for hit in found if hit.memory.status == "active"])
    return found


def _found(ctx: Context, q: Question, look: _Look) -> Hits:
    """The hits; models are asked between views, so that a slow model keeps no view of the store open."""
    with look() as tx:
        pool, scored, matched = _in_context(tx, candidates.gather(tx, q), q)
        relevance = floor.relevance_of(scored, matched)
        scored = [replace(hit, scored_rank=place) for place, hit in enumerate(heads_only(scored), 1)]
        hidden = tuple(candidates.hidden(tx, pool, q)) if q.explain else ()
    low: list[LeftOut] = []
    if max(relevance.values(), default=0.0) < q.min_score:  # nothing answers the query: no model is asked
        scored, low = floor.above(scored, relevance, q)
    if q.rerank and ctx.reranker is not None:
        scored = reranked(ctx.reranker, scored, q.text)
    with look() as tx:
        # `semantic` is the plain order of the cosines.
        recorded = Recorded.of(tx, scored if q.grouped or q.mode != "semantic" else ())
        hits = scored if q.mode == "semantic" else _newer_first(tx, scored, recorded, q)
        known = repeats.known(ctx, tx, hits, recorded, for_model=q.ask_model) if q.grouped else Known()
    hits, lower = floor.above(hits, relevance, q)
    seen = _Seen(tuple(hits), (*low, *lower, *hidden), known)
    things = _things(ctx, seen, q)
    with look() as tx:
        found = _answer(tx, things, seen, q)
        if q.explain and q.as_of is None:  # the past has no open questions
            found = Hits(_with_questions(ctx, tx, found), left_out=found.left_out, dangling=found.dangling)
    return found


def _only(tx: Tx) -> _Look:
    """A look at a view that is open already."""
    return lambda: nullcontext(tx)


def _views(ctx: Context, q: Question, vectors: Embeddings) -> _Look:
    """Opens a view of the store; a view of the past is built once."""
    if q.as_of is None:
        return partial(ctx.storage.begin, ctx.namespace, write=False)
    from wellkept.engine.history import as_of  # few questions are about the past

    past = as_of.past_at(ctx, q.as_of)
    as_of.learn(ctx, past, as_of.everything(past), vectors)
    return lambda: nullcontext(past)


def _things(ctx: Context, seen: _Seen, q: Question) -> list[Hit]:
    """All hits, with repeats listed under the newest of them when grouping is on."""
    if not q.grouped:
        return list(seen.hits)
    reader = Opinions(ctx) if q.ask_model else None
    groups, degraded = repeats.each_once(ctx, seen.hits, seen.known, reader, limit=q.limit)
    return [
        replace(
            group.shown,
            repeats=tuple(hit.memory for hit in group.repeats),
            degraded=tuple(dict.fromkeys((*group.shown.degraded, *degraded))),
        )
        if group.repeats or degraded
        else group.shown
        for group in groups
    ]


def _newer_first(tx: Tx, scored: list[Hit], recorded: Recorded, q: Question) -> list[Hit]:
    """The newer before the older; with the caller's own weights, age counts as given and only contradictions do."""
    return _current_first(tx, newer_first.newer_first(tx, scored, recorded, q.now, possible=q.blended), q)


def _current_first(tx: Tx, hits: list[Hit], q: Question) -> list[Hit]:
    """A current memory comes before the memory it replaced, when both are shown."""
    replaced = [hit.memory for hit in hits if hit.memory.status == "superseded"]
    if not replaced:
        return hits
    found = candidates.heads(tx, replaced, q)
    return reordered(hits, [Pair(head.id, Move(key, "replaces")) for key, head in found.items()])


def _answer(tx: Tx, things: Sequence[Hit], seen: _Seen, q: Question) -> Hits:
    hits = [replace(hit, rank=place) for place, hit in enumerate(things[: q.limit], 1)]
    added = expansion.expanded(tx, hits, q) if q.expand is not None else expansion.NOTHING
    hits += added.hits
    left_out: list[LeftOut] = []
    if q.explain:
        left_out += _beyond(things, seen, q)
        left_out += [*added.left_out, *seen.hidden]
    shown = {key for hit in hits for key in hit.ids}
    flagged = [item for item in tx.conflicts(ids=sorted(shown)) if is_open(item, q.now)]
    return Hits(
        [
            replace(hit, conflicts=tuple(item for item in flagged if not {item.a, item.b}.isdisjoint(hit.ids)))
            if flagged
            else hit
            for hit in hits
        ],
        left_out=_once(left_out, shown),
        dangling=added.dangling,
    )


def _with_questions(ctx: Context, tx: Tx, found: Hits) -> Iterator[Hit]:
    """The hits, each with the most valuable open question about it: as the memory in question, else as a candidate."""
    state = state_of(tx.asking())
    asked = open_ones(tx, state, ctx.clock()) if state.open else ()
    known: dict[str, str] = {}
    for one in asked:
        known.setdefault(one.memory.id, one.id)
    for one in asked:
        for candidate in one.candidates:
            for row in (candidate.memory, *candidate.also):
                known.setdefault(row.id, one.id)
    for hit in found:
        ids = (*hit.ids, *([hit.wording.id] if hit.wording is not None else []))
        yield replace(hit, question=next((known[key] for key in ids if key in known), ""))


# --------------------------------------------------------------------------------------------
# Scores


def _scored(tx: Tx, pool: Pool, q: Question) -> tuple[list[Hit], dict[str, float]]:
    """The candidates with scores, best first, and how far each matches; all is computed here, for all backends."""
    by_meaning_alone, blended = q.by_meaning_alone, q.blended
    rows = [row for row in pool.rows if not by_meaning_alone or row.id in pool.near]
    told = list(map(document_terms, headed_texts(rows)))
    terms, of_pool = query_terms(q.text), statistics(told)  # word statistics of this pool only
    lexical = lexical_scores(terms, told, of_pool)
    worded = any(lexical)
    linked = _activation(tx, pool, rows, q)
    weighted = q.weights.shares()
    found = []
    cosines = [pool.near.get(row.id) for row in rows]
    for row, cosine, words, blend in zip(rows, cosines, lexical, rank.blends(cosines, lexical), strict=True):
        every: dict[str, float | None] = {
            "cosine": cosine,
            # If no document contains a word of the query, words carry no information.
            "lexical": words if worded or blended else None,
        }
        if q.explain or not blended:
            every["recency"] = rank.recency(row, q.weights, q.now)
            every["importance"] = row.importance
            every["polarity"] = float(row.polarity)
            every["confidence"] = row.confidence
            every["activation"] = linked.get(row.id)
        counted: Mapping[str, float]
        if blended:
            score, counted = blend, _blend_shares(cosine)
        else:
            score, counted = rank.hybrid(every, q.weights)
        shown = every if q.explain else {name: every[name] for name in weighted}
        parts = {name: round(value, 4) for name, value in shown.items() if value is not None}
        found.append(Hit(row, round(score, 6), parts, degraded=q.degraded, weights=counted))
    return best_first(found), floor.matched(pool, list(zip(rows, told, strict=True)), of_pool, q)


def _in_context(tx: Tx, pool: Pool, q: Question) -> tuple[Pool, list[Hit], dict[str, float]]:
    """The scored candidates, in the default mode raised by their context (`core.recall.scoring.in_context`).

    A memory without words of the query and with a low similarity can enter the pool through its neighbour. How far each
    memory matches is raised alike.
    """
    scored, matched = _scored(tx, pool, q)
    if not q.blended:
        return pool, scored, matched
    new, beside = same_sitting.around(tx, [hit.memory for hit in scored[: same_sitting.LIFTING]], pool, q)
    if new:
        pool = candidates.widened(tx, pool, new, q)
        scored, matched = _scored(tx, pool, q)
    if not beside:
        return pool, scored, matched
    raised = in_context({hit.memory.id: hit.score for hit in scored}, beside)
    found = best_first([_lifted(hit, raised[hit.memory.id]) for hit in scored])
    return pool, found, in_context(matched, beside)


def _lifted(hit: Hit, score: float) -> Hit:
    lift = round(score - hit.score, 6)
    if lift <= 0:
        return hit
    return replace(
        hit,
        score=round(hit.score + lift, 6),
        parts={**hit.parts, "context": round(lift, 4)},
        weights={**hit.weights, "context": 1.0},
    )


def _blend_shares(cosine: float | None) -> dict[str, float]:
    return {"lexical": 1.0} if cosine is None else {"cosine": rank.SEMANTIC_SHARE, "lexical": rank.LEXICAL_SHARE}


def _activation(tx: Tx, pool: Pool, rows: Sequence[Memory], q: Question) -> dict[str, float]:
    if not q.weights.activation or not rows:
        return {}
    seeds = {row.id: pool.near.get(row.id, 0.0) for row in rows}
    return rank.activation(seeds, [(link.src, link.dst) for link in tx.links(list(seeds))])


# --------------------------------------------------------------------------------------------
# Memories left out


def _beyond(things: Sequence[Hit], seen: _Seen, q: Question) -> Iterator[LeftOut]:
    by_id = {hit.memory.id: hit for hit in seen.hits}
    for place, thing in enumerate(things[q.limit :], q.limit + 1):
        for key in thing.ids:
            hit = by_id[key]
            why = f"ranked {place} of {len(things)}, and {q.limit} were asked for"
            yield LeftOut(hit.memory, why, hit.score, hit.parts)


def _once(left_out: Sequence[LeftOut], shown: set[str]) -> Iterator[LeftOut]:
    seen = set(shown)  # a memory added over a link may have been ranked too low before
    for item in left_out:
        if item.memory.id not in seen:
            seen.add(item.memory.id)
            yield item
