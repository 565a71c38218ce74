"""The model ports: what an embedder must be and do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from wellkept.core.calibration import Calibration
    from wellkept.types import Vector


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vector of one text.

    Attributes:
        vector: Unit norm, float32, shape (dim,); None when the embedder cannot read the text
            (all tokens unknown to it, B-34).
        chunks: How many windows the text needed; above 1 the vector is their mean (B-33).
        spelled: True when the embedder only spells the text's script, letter by letter: the vector
            serves recall, but nothing is skipped, evolved or merged on its similarity.
    """

    vector: Vector | None
    chunks: int = 1
    spelled: bool = False


class Embedder(Protocol):
    """Turns texts into unit vectors.

    Attributes:
        id: Names model, weights, prefix and pooling; vectors of two ids are never mixed.
        dim: Length of a vector.
        calibration: Raw cosine -> similarity on the published scale.
        lexical: True for a fallback that compares letters, not meaning: then nothing is skipped,
            evolved or merged on similarity, and results are marked degraded.
    """

    @property
    def id(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def calibration(self) -> Calibration: ...
    @property
    def lexical(self) -> bool: ...

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Vectors in the order of the texts; raises `ModelError` when any of them cannot be made."""
        ...
