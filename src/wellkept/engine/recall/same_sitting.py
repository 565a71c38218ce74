"""Neighbours in the same sitting: memories recorded next to the best hits raise them and are raised by them.

A short statement often answers what the one before it names: "Where did Ana move?" is answered by "To Lisbon!",
recorded after "I have moved." A sitting is a run of memories with the same `source`, such as a conversation,
without a gap of an hour. A memory without a source belongs to no sitting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeAlias

from wellkept.core.recall.scoring import REACH
from wellkept.engine.recall.candidates import Pool
from wellkept.engine.recall.question import Question
from wellkept.storage.port import Tx
from wellkept.types import Filter, Memory

LIFTING = 20
"""How many of the best hits are combined with their neighbours."""
PAUSE = timedelta(hours=1)
"""A longer gap begins a new sitting, also under the same source."""
_PAGES = (REACH, 3 * REACH, 9 * REACH)
"""Rows read to each side: as many as needed, and more only while too few of them are of the same sitting."""

Beside: TypeAlias = Mapping[str, Sequence[tuple[str, int]]]
"""Id -> its neighbours and their distance in steps."""
_Walk: TypeAlias = Callable[[Memory], Iterable[Iterable[Memory]]]


def around(tx: Tx, best: Sequence[Memory], pool: Pool, q: Question) -> tuple[list[Memory], Beside]:
    """Memories recorded next to the best hits: those not yet among the candidates, and the neighbours of each.

    Args:
        tx: The view of the store.
        best: The best hits, best first.
        pool: The candidates so far; with a filter or a time, all rows that may be shown.
        q: The question.
    """
    walk = _among(pool.rows) if q.in_full else _stored(tx, q)
    known = {row.id for row in pool.rows}
    new: dict[str, Memory] = {}
    beside: dict[str, dict[str, int]] = {}
    for anchor in best[:LIFTING]:
        if not anchor.source:
            continue
        for side in walk(anchor):
            for steps, row in enumerate(_of_one_sitting(anchor, side), 1):
                beside.setdefault(anchor.id, {})[row.id] = steps
                beside.setdefault(row.id, {})[anchor.id] = steps
                if row.id not in known:
                    new[row.id] = row
    return list(new.values()), {key: tuple(near.items()) for key, near in beside.items()}


def _of_one_sitting(anchor: Memory, side: Iterable[Memory]) -> Iterator[Memory]:
    """The nearest memories of the anchor's sitting on one side; `side` is read no further than needed."""
    last, found = anchor, 0
    for row in side:
        if abs(row.created_at - last.created_at) > PAUSE:
            return  # the gap ends the sitting, whatever the source: later rows are further away
        if row.source != anchor.source:
            continue  # another sitting at the same time
        yield row
        last, found = row, found + 1
        if found == REACH:
            return


def _stored(tx: Tx, q: Question) -> _Walk:
    shown = Filter(kinds=q.where.kinds, statuses=q.statuses)

    def earlier(place: tuple[datetime, str], limit: int) -> Sequence[Memory]:
        return tx.find(replace(shown, before=place), limit=limit)[::-1]

    def later(place: tuple[datetime, str], limit: int) -> Sequence[Memory]:
        return tx.find(replace(shown, after=place), limit=limit)

    return lambda anchor: (_outwards(anchor, earlier), _outwards(anchor, later))


def _outwards(anchor: Memory, page_from: Callable[[tuple[datetime, str], int], Sequence[Memory]]) -> Iterator[Memory]:
    """Rows outwards from the anchor; further pages are read only when other sittings are interleaved."""
    place = (anchor.created_at, anchor.id)
    for size in _PAGES:
        page = page_from(place, size)
        yield from page
        if len(page) < size:
            return
        place = (page[-1].created_at, page[-1].id)


def _among(rows: Iterable[Memory]) -> _Walk:
    told: dict[str, list[Memory]] = {}
    for row in sorted(rows, key=lambda row: (row.created_at, row.id)):
        told.setdefault(row.source, []).append(row)
    places = {row.id: at for sitting in told.values() for at, row in enumerate(sitting)}

    def walk(anchor: Memory) -> Iterable[Iterable[Memory]]:
        sitting, at = told[anchor.source], places[anchor.id]
        return sitting[max(0, at - REACH) : at][::-1], sitting[at + 1 : at + 1 + REACH]

    return walk
