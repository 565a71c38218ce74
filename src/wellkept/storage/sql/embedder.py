"""Checks that the vectors of this process are of the store's embedder."""

from __future__ import annotations

import logging
import threading

from wellkept.errors import EmbedderMismatch
from wellkept.storage.sql.reading import ReadTx

log = logging.getLogger("wellkept")


class Bound:
    """A storage that is bound to the embedder of its process."""

    def __init__(self) -> None:
        self._model: int | None = None
        """Number of the embedder; None before `bind`."""
        self._warned = threading.Event()

    def _check_model(self, tx: ReadTx) -> None:
        """Mark a transaction as foreign if another process has moved the store to another embedder.

        Such a transaction searches by words only and refuses vectors. Otherwise vectors of two embedders would be
        mixed, unnoticed if their dimensions are equal.
        """
        if self._model is None or tx.model == self._model:
            return
        tx.foreign = True
        if not self._warned.is_set():
            self._warned.set()
            log.warning("The store was moved to another embedder; open it again with that one. Recall goes by words")


def check_size(embedder: str, dim: int, *, known: int, where: str) -> None:
    """Check that an embedder still makes vectors of the known dimension.

    Raises:
        EmbedderMismatch: The dimension differs.
    """
    if known != dim:
        raise EmbedderMismatch(
            f"embedder {embedder!r} made vectors of {known} components, now {dim}",
            where=where,
            todo="Give an embedder of another size another id",
        )
