"""What was told beside the best answers, in the same sitting: it lifts them, and is lifted by them.

A short statement often answers what the one before it names: "Where did Ana move?" is answered by "To Lisbon!",
told after "I have moved." A sitting is what has the same `source`, such as a conversation, without an hour of
silence in between; a memory without a source was told in none.
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
"""How many of the best answers lift, and are lifted by, what was told beside them."""
PAUSE = timedelta(hours=1)
"""After so long a silence a new sitting begins, also under the same source."""
_PAGES = (REACH, 3 * REACH, 9 * REACH)
"""Rows looked at to each side: as many as are wanted, and more only while too few of them are of the same sitting."""

Beside: TypeAlias = Mapping[str, Sequence[tuple[str, int]]]
"""Id -> its neighbours and how many steps away they were told."""
_Walk: TypeAlias = Callable[[Memory], Iterable[Iterable[Memory]]]


def around(tx: Tx, best: Sequence[Memory], pool: Pool, q: Question) -> tuple[list[Memory], Beside]:
    """What was told beside the best answers: memories that were no candidates so far, and who stands beside whom.

    Args:
        tx: The view of the store that is asked.
        best: The best answers, best first.
        pool: The candidates so far; all that may be shown where a filter or a time is asked for.
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
    """Of what was told outwards from the anchor, the nearest of its own sitting; no more of `side` is looked at."""
    last, found = anchor, 0
    for row in side:
        if abs(row.created_at - last.created_at) > PAUSE:
            return  # whoever told it: what comes behind it is further away still
        if row.source != anchor.source:
            continue  # sittings that went on at the same time
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
    """Row by row away from the anchor; further pages are read only where others talked in between."""
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
