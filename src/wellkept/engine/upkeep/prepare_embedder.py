"""Computes vectors of a new embedder in advance, namespace by namespace, while the old one is in use.

Any number of workers store them next to the current vectors; searches, writes and decisions keep using the old
embedder. `reembed` then switches the store and computes only what is missing: texts written since, and texts
that the two embedders split into different numbers of windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wellkept.engine.base.context import Context
from wellkept.engine.base.paging import following
from wellkept.engine.models.embedding import Embeddings, text_of, vector_key
from wellkept.engine.upkeep.jobs import Errand, Outcome, Step
from wellkept.errors import EmbedderMismatch, StorageError
from wellkept.models.port import Embedder
from wellkept.storage.port import Ahead, Foreseeing
from wellkept.types import Filter, Memory, Status, Vector
from wellkept.types.jobs import Cadence

KIND = "ahead"
_AT_ONCE = 128
_KEPT: tuple[Status, ...] = ("active", "superseded", "archived", "wording")


def making_ahead(ctx: Context, embedder: Embedder) -> Errand:
    """The job that computes vectors of this embedder in advance; due again after each change.

    Raises:
        StorageError: The backend holds vectors of only one embedder.
        EmbedderMismatch: It is already the store's embedder, or was known with another vector size.
    """
    if not isinstance(ctx.storage, Foreseeing):
        raise StorageError(
            "this store holds vectors of one embedder only", where="--ahead", todo="Use `wellkept reembed` alone"
        )
    if ctx.storage.header().embedder in ("", embedder.id):
        raise EmbedderMismatch(
            f"{embedder.id!r} is the store's embedder already", where="--ahead", todo="Name the one to move to"
        )
    place = ctx.storage.ahead(embedder=embedder.id, dim=embedder.dim)

    def run(ctx: Context, step: Step) -> Outcome:
        return _made(ctx, embedder, place, step)

    return Errand(Cadence(kind=f"{KIND} {embedder.id}", changes=1), run)


def _made(ctx: Context, embedder: Embedder, place: Ahead, step: Step) -> Outcome:
    counts = {"embedded": 0, "left": 0}
    where, failure = Filter(statuses=_KEPT), ""
    while True:
        with ctx.storage.begin(ctx.namespace, write=False) as tx:
            rows = tx.find(where, limit=_AT_ONCE)
        if not rows:
            return Outcome(dict(counts), failed=failure)
        step(f"embed {counts['embedded']}")
        vectors = Embeddings(embedder, on_failure="Vectors could not be made ahead")
        _page(ctx, vectors, place, rows, counts)
        if vectors.failure is not None:
            failure = f"{type(vectors.failure).__name__}: {vectors.failure}"
        if vectors.is_down:
            return Outcome(dict(counts), failed=failure)
        where = following(where, rows)


def _page(ctx: Context, vectors: Embeddings, place: Ahead, rows: Sequence[Memory], counts: dict[str, int]) -> None:
    """Compute and keep the vectors of some rows, of those that the embedder can read."""
    texts = {row.embedding: text_of(row) for row in rows if row.embedding == vector_key(text_of(row))}
    counts["left"] += sum(row.embedding not in texts for row in rows)  # `reembed` handles these
    parts: Mapping[str, int] = {row.embedding: row.chunks for row in rows}
    wanted = place.missing(ctx.namespace, list(texts))
    vectors.fetch(texts[digest] for digest in wanted)
    made: dict[str, Vector] = {}
    for digest in wanted:
        embedded = vectors.get(texts[digest])
        if embedded is not None and embedded.vector is not None and embedded.chunks == parts[digest]:
            made[digest] = embedded.vector
    counts["left"] += len(wanted) - len(made)
    if made:
        counts["embedded"] += place.keep(ctx.namespace, made)
