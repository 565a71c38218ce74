"""Whether vectors of this process belong to the embedder of the store."""

from __future__ import annotations

import logging
import threading

from wellkept.errors import EmbedderMismatch
from wellkept.storage.sql.reading import ReadTx

log = logging.getLogger("wellkept")


class Bound:
    """A storage that knows for which embedder it was opened."""

    def __init__(self) -> None:
        self._model: int | None = None
        """Number of that embedder; None until `bind`."""
        self._warned = threading.Event()

    def _check_model(self, tx: ReadTx) -> None:
        """Mark a transaction in which another process has moved the store to another embedder.

        Such a transaction reads by words alone and refuses vectors: vectors of two embedders would be mixed, and
        with the same number of components nothing would show it.
        """
        if self._model is None or tx.model == self._model:
            return
        tx.foreign = True
        if not self._warned.is_set():
            self._warned.set()
            log.warning("The store was moved to another embedder; open it again with that one. Recall goes by words")


def check_size(embedder: str, dim: int, *, known: int, where: str) -> None:
    """Check that an embedder still makes vectors of the known number of components.

    Raises:
        EmbedderMismatch: It does not.
    """
    if known != dim:
        raise EmbedderMismatch(
            f"embedder {embedder!r} made vectors of {known} components, now {dim}",
            where=where,
            todo="Give an embedder of another size another id",
        )
