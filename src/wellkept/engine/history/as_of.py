"""The state of a namespace at some time, rebuilt from its journal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import chain

from wellkept.engine.base.context import Context
from wellkept.engine.history.past import Past
from wellkept.engine.models.embedding import Embeddings, text_of, vector_key
from wellkept.types import Filter, JournalEntry, Memory

PAGE = 128


def past_at(ctx: Context, at: datetime) -> Past:
    """The namespace as it was after the last entry written at or before a time.

    Memories erased since are missing, because nothing of them is left.
    """
    past = Past(ctx.namespace, ctx.header())
    for entry in chain.from_iterable(journal_pages(ctx, _last(ctx, at))):
        past.follow(entry.effects)
    return past


def unused(rows: list[Memory]) -> list[Memory]:
    """The rows without usage data, because no journal records their usage at the time.

    So the same query about the same time always has the same answer.
    """
    return [replace(row, access_count=0, last_accessed_at=None, stability=None) for row in rows]


def learn(ctx: Context, past: Past, rows: list[Memory], vectors: Embeddings) -> None:
    """Load the vectors of these rows; vectors that are no longer stored are recomputed."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        past.learn(tx.vectors({row.embedding for row in rows if row.embedding}))
    lost = {row.embedding: text_of(row) for row in rows if row.embedding and not past.knows(row.embedding)}
    lost = {key: text for key, text in lost.items() if key == vector_key(text)}
    vectors.fetch(lost.values())  # an outage is a value: those rows are found by words only
    made = {key: found for key, text in lost.items() if (found := vectors.get(text)) is not None}
    past.keep({key: found.vector for key, found in made.items() if found.vector is not None})


def everything(past: Past) -> list[Memory]:
    """All rows at that time, of any status."""
    return unused(past.find(Filter(statuses=())))


def _last(ctx: Context, at: datetime) -> int:
    # Backwards from the newest entry: after a clock was set back, an entry has an earlier time than the one
    # before it, but the store already held both.
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        upper = tx.seq
    for stop in range(upper, 0, -PAGE):
        page = _page(ctx, max(1, stop - PAGE + 1), stop)
        fitting = [entry.seq for entry in page if entry.at <= at]
        if fitting:
            return max(fitting)
    return 0


def journal_pages(ctx: Context, last: int) -> Iterator[list[JournalEntry]]:
    """The entries of the namespace up to this one, a page at a time, each read in a view of its own."""
    for start in range(1, last + 1, PAGE):
        yield _page(ctx, start, min(start + PAGE - 1, last))


def _page(ctx: Context, first: int, last: int) -> list[JournalEntry]:
    numbers = range(first, last + 1)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        # The answer also contains later entries that undid the requested ones.
        return [entry for entry in tx.journal(seqs=numbers) if entry.seq in numbers]
