"""What taking in rows would do: the same writes, on a copy of the namespace that is thrown away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from wellkept.engine.base.context import Context
from wellkept.engine.gate.acts import apply
from wellkept.engine.ingest.import_rows import are_written
from wellkept.engine.transfer.fingerprints import pages_of_rows, pairs_of
from wellkept.engine.transfer.import_lines import Row
from wellkept.engine.transfer.importer import Importer, Progress
from wellkept.storage.port import Tx
from wellkept.types import AliasChange, ConflictChange, Effect, ImportReport, LinkChange, MemoryChange, Vector

MOST_COPIED = 50_000
"""Memories of the largest namespace that is copied."""


def rehearsed(
    ctx: Context,
    scratch: Context,
    rows: Iterable[Row],
    *,
    most: int | None = None,
    progress: Progress | None = None,
) -> ImportReport | None:
    """Write rows into a copy of the namespace.

    Args:
        ctx: The store, which is only read.
        scratch: An empty store for the copy, with the same namespace, policy and models.
        rows: The rows.
        most: Compare only if there are at most this many rows that no earlier run has written.
        progress: Called after each batch with the number of rows written.

    Returns:
        What the writes would do; None where that is too much, or the namespace is too large to be copied.
    """
    whole = tuple(rows)
    fresh = [row for row, known in zip(whole, are_written(ctx, whole), strict=True) if not known]
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        if most is not None and len(fresh) > most or not _copied(tx, scratch):
            return None
    importer = Importer(scratch, "rehearsal", progress=progress)
    for row in fresh:
        importer.take(row, ctx.namespace)
    report, again = importer.report(), len(whole) - len(fresh)
    counts = {**report.counts, "replayed": again} if again else report.counts
    return replace(report, read=len(whole), counts=counts)


def _copied(tx: Tx, scratch: Context) -> bool:
    """Copy the stored rows into an empty store, one journal entry for each page; False if there are too many."""
    count = 0
    for rows in pages_of_rows(tx):
        count += len(rows)
        if count > MOST_COPIED:
            return False
        vectors = tx.vectors({row.embedding for row in rows if row.embedding})
        _put(scratch, (MemoryChange(None, row) for row in rows), vectors)
    _put(scratch, _others(tx), {})
    return True


def _others(tx: Tx) -> Iterator[Effect]:
    yield from (AliasChange(memory_id, digest, present=True) for digest, memory_id in pairs_of(tx))
    yield from (LinkChange(None, link) for link in tx.links())
    yield from (ConflictChange(None, conflict) for conflict in tx.conflicts())


def _put(scratch: Context, effects: Iterable[Effect], vectors: Mapping[str, Vector]) -> None:
    changes = tuple(effects)
    if changes:
        with scratch.storage.begin(scratch.namespace, write=True) as tx:
            apply(scratch, tx, changes, verb="import", outcome="created", memory_id="", vectors=vectors)
