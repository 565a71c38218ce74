"""Base of an embedder that wraps another one, with the same id, size and properties."""

from __future__ import annotations

from wellkept.core.judging.calibration import Calibration
from wellkept.core.judging.chatter import ChatterHead
from wellkept.engine.models import fail_open
from wellkept.models.port import Embedded, Embedder, chatter_of
from wellkept.types import Vector


class WrappingEmbedder:
    """The base of embedders that ask another one only for what they do not know already.

    Args:
        embedder: The other one.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def id(self) -> str:
        """See `Embedder`."""
        return self._embedder.id

    @property
    def dim(self) -> int:
        """See `Embedder`."""
        return self._embedder.dim

    @property
    def calibration(self) -> Calibration:
        """See `Embedder`."""
        return self._embedder.calibration

    @property
    def chatter(self) -> ChatterHead | None:
        """See `Embedder`."""
        return chatter_of(self._embedder)

    @property
    def lexical(self) -> bool:
        """See `Embedder`."""
        return self._embedder.lexical

    @property
    def languages(self) -> frozenset[str] | None:
        """See `Embedder`."""
        return getattr(self._embedder, "languages", None)

    def towards_answers(self, question: str, vector: Vector) -> Vector:
        """See `Embedder`."""
        return fail_open.towards_answers(self._embedder, question, vector)

    def about(self, text: str) -> Embedded:
        """See `Embedder`."""
        return fail_open.about(self._embedder, text)
