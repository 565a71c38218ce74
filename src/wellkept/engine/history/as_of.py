"""What a namespace held at some time, made anew from its journal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from wellkept.engine.base.context import Context
from wellkept.engine.history.past import Past
from wellkept.engine.models.embedding import Embeddings, text_of, vector_key
from wellkept.types import Filter, JournalEntry, Memory

PAGE = 128


def past_at(ctx: Context, at: datetime) -> Past:
    """The namespace as it was after the last entry that was written at or before a moment.

    What was erased since is not there: nothing of it is left to show.
    """
    past = Past(ctx.namespace, ctx.storage.header())
    for entry in _entries(ctx, _last(ctx, at)):
        past.follow(entry.effects)
    return past


def unused(rows: list[Memory]) -> list[Memory]:
    """The rows without their use, which no journal records: how often they were read by then is not known.

    Without it the same question about the same moment has the same answer whenever it is asked.
    """
    return [replace(row, access_count=0, last_accessed_at=None, stability=None) for row in rows]


def learn(ctx: Context, past: Past, rows: list[Memory], vectors: Embeddings) -> None:
    """Vectors of these rows: as they are stored, or made again where the store keeps them no more."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        past.learn(tx.vectors({row.embedding for row in rows if row.embedding}))
    lost = {row.embedding: text_of(row) for row in rows if row.embedding and not past.knows(row.embedding)}
    lost = {key: text for key, text in lost.items() if key == vector_key(text)}
    vectors.fetch(lost.values())  # an outage is a value there: those rows are found by their words
    made = {key: found for key, text in lost.items() if (found := vectors.get(text)) is not None}
    past.keep({key: found.vector for key, found in made.items() if found.vector is not None})


def everything(past: Past) -> list[Memory]:
    """All rows that were there, whatever their status."""
    return unused(past.find(Filter(statuses=())))


def _last(ctx: Context, at: datetime) -> int:
    # From the newest back: a clock that was set back writes an earlier time after a later one, and the
    # store held the later one all the same.
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        upper = tx.seq
    for stop in range(upper, 0, -PAGE):
        page = list(_page(ctx, max(1, stop - PAGE + 1), stop))
        fitting = [entry.seq for entry in page if entry.at <= at]
        if fitting:
            return max(fitting)
    return 0


def _entries(ctx: Context, last: int) -> Iterator[JournalEntry]:
    for start in range(1, last + 1, PAGE):
        yield from _page(ctx, start, min(start + PAGE - 1, last))


def _page(ctx: Context, first: int, last: int) -> Iterator[JournalEntry]:
    numbers = range(first, last + 1)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        # Beside the entries asked for come those that took them back later.
        found = [entry for entry in tx.journal(seqs=numbers) if entry.seq in numbers]
    yield from found
