"""The model ports: what an embedder must be and do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from wellkept.core.judging.calibration import Calibration
    from wellkept.core.judging.risk_bounds import Bounds
    from wellkept.policy import Risk
    from wellkept.types import Opinion, Vector


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vector of one text.

    Attributes:
        vector: Unit norm, float32, shape (dim,); None when the embedder cannot read the text
            (all tokens unknown to it).
        chunks: How many windows the text needed; above 1 the vector is their mean.
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
        calibration: Raw cosine -> similarity on the published scale; `UNCALIBRATED` asks to be measured.
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


class RelationModel(Protocol):
    """Reads two texts and says how the newer relates to the older, with calibrated probabilities.

    Attributes:
        id: Names the model and its weights; stands in every reason it gives.
        repeatable: Optional; True where a pair has the same opinion each time, so that a store may remember it.
        defers: True for a fake that leaves pairs it has no opinion on to rules and similarity; with
            a real model, such a pair is never skipped, evolved or merged on similarity alone.
    """

    @property
    def id(self) -> str: ...

    @property
    def defers(self) -> bool: ...

    def bounds(self, risk: Risk) -> Bounds:
        """From which probability each act keeps its errors under the bound of this risk."""
        ...

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """Opinions on (old, new) in the order of the pairs; None for a pair it cannot read.

        The same pair has the same opinion alone and in any company, and the swapped pair the mirrored
        one. Raises `ModelError` when the model cannot be asked at all.
        """
        ...


class Judge(Protocol):
    """An optional second opinion on contradictions; it may add a possible conflict to review, and nothing else.

    Attributes:
        id: Names the judge, its model and prompt; stands in every reason it gives.
    """

    @property
    def id(self) -> str: ...

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Probabilities, 0 to 1, that the texts of each (old, new) cannot both be true; None where it does not know.

        In the order of the pairs. Raises `ModelError` when it cannot be asked at all.
        """
        ...


class Reranker(Protocol):
    """Reads a question and a memory together and says how well the one answers the other; it orders, nothing else.

    Attributes:
        id: Names the model and its weights.
    """

    @property
    def id(self) -> str: ...

    def rerank(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """How well each text answers, 0 to 1, in their order; None for a text it cannot read.

        Raises `ModelError` when it cannot be asked at all.
        """
        ...


class Summariser(Protocol):
    """Writes one short text that stands for several; what it writes is checked before it is taken.

    Attributes:
        id: Names the summariser, its model and prompt; stands in every plan it has a part in.
    """

    @property
    def id(self) -> str: ...

    def summarise(self, texts: Sequence[str], *, limit: int) -> str:
        """A summary of the texts, oldest first, of at most `limit` characters.

        Raises `ModelError` when it cannot be asked at all; it is then not asked again in this run.
        """
        ...
