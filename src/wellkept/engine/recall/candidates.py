"""Candidates for a query: found by vector, by words, or along a chain of replacements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from wellkept.core.judging.calibration import all_rounded
from wellkept.core.reading.chat_turns import is_spoken
from wellkept.core.records.codec import iso
from wellkept.core.records.conflicts import is_open
from wellkept.core.records.fits import matching, misfit
from wellkept.core.records.lifecycle import head_of, is_expired
from wellkept.core.records.validity import held_at
from wellkept.core.records.vectors import cosines
from wellkept.core.text.forms import search_terms
from wellkept.core.text.titles import headed_texts
from wellkept.engine.lookup import filters
from wellkept.engine.recall.newer_first import UPDATING, heads_of_sources
from wellkept.engine.recall.question import Question
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import ALL_STATUSES, SEARCHED, Filter, LeftOut, Memory, Status, Vector

_LOOKED_AT: tuple[Status, ...] = ("active", "superseded", "archived")


@frozen
class Pool:
    """The candidates of a query.

    Attributes:
        rows: Rows that may be shown and match the filter, and their wordings.
        near: The exact cosines of those with a vector, by id.
        plain: The same with the query before it was turned towards its answers.
        former: Found rows that are not shown because one of `rows` replaced them, each with the id of that row.
    """

    rows: tuple[Memory, ...]
    near: Mapping[str, float]
    plain: Mapping[str, float]
    former: tuple[tuple[Memory, str], ...] = ()


def gather(tx: Tx, q: Question) -> Pool:
    """The candidates: the union of vector and word search, or all rows when there is a filter or a time."""
    return _showable(tx, _all(tx, q) if q.in_full else _proposed(tx, q), q)


def widened(tx: Tx, pool: Pool, rows: Iterable[Memory], q: Question) -> Pool:
    """The pool with further rows, if they may be shown and match the filter."""
    more = _showable(tx, rows, q)
    near, plain = {**pool.near, **more.near}, {**pool.plain, **more.plain}
    return Pool((*pool.rows, *more.rows), near, plain, (*pool.former, *more.former))


def _showable(tx: Tx, rows: Iterable[Memory], q: Question) -> Pool:
    """The rows that may be shown and match the filter, and the wordings of those rows that have not expired."""
    known = {row.id: row for row in rows}
    at = q.valid_at or q.now
    wordings = [row for row in known.values() if row.status == "wording" and not is_expired(row, at)]
    missing = tuple({row.superseded_by for row in wordings} - known.keys())
    known.update((row.id, row) for row in (find(tx, Filter(ids=missing, statuses=ALL_STATUSES), q) if missing else ()))
    successors = successors_of(tx, known.values(), q)
    fitting = matching(known.values(), replace(q.where, statuses=()), limit=None)
    shown = {row.id: row for row in fitting if not obstacle(row, q, successors)}
    found = (*shown.values(), *(row for row in wordings if row.superseded_by in shown))
    gone = [row for row in known.values() if row.status == "superseded" and row.id not in shown]
    ends = heads(tx, known.values(), q) if gone else {}
    former = tuple((row, ends[row.id].id) for row in gone if ends[row.id].id in shown)
    compared = (*found, *(row for row, _ in former))
    near, plain = exact(tx, compared, q.vector, q.plain)
    # Maps of questions know statements: a turn of a conversation is compared with the question as it was asked.
    near.update((row.id, plain[row.id]) for row in compared if row.id in plain and is_spoken(row.content))
    return Pool(found, near, plain, former)


def obstacle(row: Memory, q: Question, successors: Mapping[str, Memory]) -> str:
    """Why a row may not be shown, regardless of the filter; empty when it may."""
    if row.status == "superseded" and row.status not in q.statuses:
        return f"superseded by {row.superseded_by}"
    if row.status == "wording":
        return f"a wording of {row.superseded_by}"
    if row.status != "active" and row.status not in q.statuses:
        return row.status
    if q.valid_at is not None:
        return "" if held_at(row, successors.get(row.superseded_by), q.valid_at) else f"not so at {iso(q.valid_at)}"
    if row.expires_at is not None and is_expired(row, q.now):
        return f"expired at {iso(row.expires_at)}"
    return ""


def successors_of(tx: Tx, rows: Iterable[Memory], q: Question) -> dict[str, Memory]:
    """The replacements of superseded rows, where the time of replacement matters."""
    ids = tuple(dict.fromkeys(row.superseded_by for row in rows if row.superseded_by)) if q.valid_at else ()
    return {row.id: row for row in find(tx, Filter(ids=ids, statuses=ALL_STATUSES), q)} if ids else {}


def heads(tx: Tx, rows: Iterable[Memory], q: Question) -> dict[str, Memory]:
    """The current end of the replacement chain of each row, by the id it starts from."""
    known = {row.id: row for row in rows}
    starts = list(known.values())
    edge = {row.superseded_by for row in starts if row.superseded_by} - known.keys()
    while edge:
        found = find(tx, Filter(ids=tuple(sorted(edge)), statuses=ALL_STATUSES), q)
        known.update((row.id, row) for row in found)
        edge = {row.superseded_by for row in found if row.superseded_by} - known.keys()
    return {row.id: head_of(row, known) for row in starts}


def find(tx: Tx, where: Filter, q: Question) -> list[Memory]:
    """Rows of this view; rows of the past come without usage data, which may be from a later time."""
    rows = tx.find(where)
    if q.as_of is None:
        return rows
    from wellkept.engine.history.as_of import unused  # few questions are about the past

    return unused(rows)


def exact(tx: Tx, rows: Sequence[Memory], *asked: Vector | None) -> list[dict[str, float]]:
    """For each query, the cosines of the rows that have a vector.

    They are rounded so that equal rows are not ordered by storage precision.
    """
    usable = any(vector is not None for vector in asked)
    named = {row.id: row.embedding for row in rows if row.embedding and usable}
    stored = tx.vectors(set(named.values()))
    ids = [memory_id for memory_id, name in named.items() if name in stored]
    if not ids:
        return [{} for _ in asked]
    matrix = np.stack([stored[named[memory_id]] for memory_id in ids])
    return [
        {} if vector is None else dict(zip(ids, all_rounded(cosines(vector, matrix).tolist()), strict=True))
        for vector in asked
    ]


def hidden(tx: Tx, pool: Pool, q: Question) -> list[LeftOut]:
    """Hidden rows that match the query, with the reason; nearest first, at most as many as the pool takes."""
    held = {row.id for row in pool.rows}
    rows = [row for row in _near_any(tx, q) if row.id not in held or (q.by_meaning_alone and row.id not in pool.near)]
    successors = successors_of(tx, rows, q)
    [near] = exact(tx, rows, q.vector)
    rows.sort(key=lambda row: (-near.get(row.id, 0.0), row.id))
    left, misfit_of = [], misfit(replace(q.where, statuses=()))
    for row in rows[: q.pool]:
        unfit = misfit_of(row)
        why = obstacle(row, q, successors) or (f"does not fit the filter: {unfit}" if unfit else "")
        if not why:
            why = "has no vector" if q.by_meaning_alone and row.id not in near else "outside the pool of candidates"
        left.append(LeftOut(row, why, None, {"cosine": near[row.id]} if row.id in near else {}))
    return left


def _proposed(tx: Tx, q: Question) -> list[Memory]:
    """The nearest rows and those that share words; for a superseded row, its replacement."""
    near = _nearest(tx, q, statuses=(*SEARCHED, "superseded"))
    words = () if q.by_meaning_alone else tx.match(q.terms, limit=q.pool, kinds=q.where.kinds)
    ids = tuple(dict.fromkeys((*near, *words)))
    rows = {row.id: row for row in tx.find(Filter(ids=ids, statuses=ALL_STATUSES))} if ids else {}
    replaced = [row for row in rows.values() if row.status == "superseded"]
    rows.update((row.id, row) for row in (heads(tx, replaced, q).values() if replaced else ()))
    more: list[Memory] = []
    if q.include_superseded:
        # Superseded rows are in no word index; there are few of them.
        more = _worded(tx.find(Filter(kinds=q.where.kinds, statuses=("superseded",))), q)
    elif replaced:
        # Superseded rows took places in the limit, so the active ones are searched again.
        ids = tuple(key for key in _nearest(tx, q, statuses=SEARCHED) if key not in rows)
        more = tx.find(Filter(ids=ids, statuses=SEARCHED)) if ids else []
    rows.update((row.id, row) for row in more)
    return [*rows.values(), *_newer(tx, rows, q)]


def _newer(tx: Tx, rows: Mapping[str, Memory], q: Question) -> list[Memory]:
    """What probably replaces one of these rows, so that it can come before it although it has other words."""
    active = tuple(dict.fromkeys(row.superseded_by if row.status == "wording" else row.id for row in rows.values()))
    marks = (item for item in tx.conflicts(ids=active) if item.kind == "outdated")
    ids = {item.b for item in marks if is_open(item, q.now)}
    links = [link for link in tx.links(active) if link.rel in UPDATING] if active else []
    behind = heads_of_sources(tx, links, rows)
    ids |= {behind.get(link.src, link.src) for link in links}
    wanted = tuple(sorted(ids - rows.keys()))
    return tx.find(Filter(ids=wanted)) if wanted else []


def _worded(rows: Iterable[Memory], q: Question) -> list[Memory]:
    wanted = set(q.terms)
    found = list(rows)
    return [
        row for row, text in zip(found, headed_texts(found), strict=True) if not wanted.isdisjoint(search_terms(text))
    ]


def _nearest(tx: Tx, q: Question, *, statuses: Sequence[Status], kinds: Sequence[str] | None = None) -> tuple[str, ...]:
    if q.vector is None:
        return ()
    wanted = q.where.kinds if kinds is None else kinds
    asked = np.asarray([q.vector] if q.vector is q.plain else [q.vector, q.plain], dtype=np.float32)
    found = tx.nearest(asked, limit=q.pool, kinds=wanted, statuses=statuses)
    return tuple(dict.fromkeys(chain.from_iterable(one.ids for one in found)))


def _all(tx: Tx, q: Question) -> list[Memory]:
    found = find(tx, replace(filters.proposed(q.where), statuses=q.statuses), q)
    return [*found, *find(tx, Filter(statuses=("wording",)), q)]


def _near_any(tx: Tx, q: Question) -> list[Memory]:
    if q.as_of is not None:
        return find(tx, Filter(statuses=_LOOKED_AT), q)
    words = tx.match(q.terms, limit=q.pool)
    ids = tuple(dict.fromkeys((*_nearest(tx, q, statuses=_LOOKED_AT, kinds=()), *words)))
    return tx.find(Filter(ids=ids, statuses=ALL_STATUSES)) if ids else []
