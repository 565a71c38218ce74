"""What was told beside the best answers, in the same sitting: it lifts them, and is lifted by them.

A short statement often answers what the one before it names: "Where did Ana move?" is answered by "To Lisbon!",
told after "I have moved." A sitting is what has the same `source`, such as a conversation, without an hour of
silence in between; a memory without a source was told in none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

from wellkept.core.fusion import REACH
from wellkept.engine.candidates import Pool
from wellkept.engine.question import Question
from wellkept.storage.port import Tx
from wellkept.types import Filter, Memory

LIFTING = 20
"""How many of the best answers lift, and are lifted by, what was told beside them."""
PAUSE = timedelta(hours=1)
"""After so long a silence a new sitting begins, also under the same source."""

Beside: TypeAlias = Mapping[str, Sequence[tuple[str, int]]]
"""Id -> its neighbours and how many steps away they were told."""
_Walk: TypeAlias = Callable[[Memory], Iterable[Sequence[Memory]]]


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


def _of_one_sitting(anchor: Memory, side: Sequence[Memory]) -> Iterator[Memory]:
    last = anchor
    for row in side:
        if row.source != anchor.source:
            continue  # sittings that went on at the same time
        if abs(row.created_at - last.created_at) > PAUSE:
            return
        yield row
        last = row


def _stored(tx: Tx, q: Question) -> _Walk:
    shown = Filter(kinds=q.where.kinds, statuses=q.statuses)

    def walk(anchor: Memory) -> Iterable[Sequence[Memory]]:
        here = (anchor.created_at, anchor.id)
        return tx.find(replace(shown, before=here), limit=REACH)[::-1], tx.find(replace(shown, after=here), limit=REACH)

    return walk


def _among(rows: Iterable[Memory]) -> _Walk:
    told: dict[str, list[Memory]] = {}
    for row in sorted(rows, key=lambda row: (row.created_at, row.id)):
        told.setdefault(row.source, []).append(row)
    places = {row.id: at for sitting in told.values() for at, row in enumerate(sitting)}

    def walk(anchor: Memory) -> Iterable[Sequence[Memory]]:
        sitting, at = told[anchor.source], places[anchor.id]
        return sitting[max(0, at - REACH) : at][::-1], sitting[at + 1 : at + 1 + REACH]

    return walk
