"""The model ports: protocols of embedder, relation model, judge, reranker and summariser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from wellkept.errors import ModelUnavailable
from wellkept.frozen import frozen

if TYPE_CHECKING:
    from wellkept.core.judging.calibration import Calibration
    from wellkept.core.judging.chatter import ChatterHead
    from wellkept.core.judging.risk_bounds import Bounds
    from wellkept.policy import Risk
    from wellkept.types import Opinion, Vector


@frozen
class Embedded:
    """The vector of one text.

    Attributes:
        vector: Unit norm, float32, shape (dim,); None when the embedder cannot read the text (all tokens unknown).
        chunks: Windows of the text; above 1 the vector is their mean.
        spelled: True when the embedder reads the text's script only letter by letter. The vector serves recall, but
            nothing is skipped, evolved or merged on its similarity.
        by_words: True when the embedder cannot read the text and the vector compares words instead. It finds stored
            texts to compare a new one with; recall does not mix its similarity with those of meaning.
    """

    vector: Vector | None
    chunks: int = 1
    spelled: bool = False
    by_words: bool = False


class Embedder(Protocol):
    """Turns texts into unit vectors.

    Attributes:
        about: Optional; `about(text)` gives what `embed` says of a text beside its vector, without running the model:
            an `Embedded` without vector. So the marks of a stored vector are known; without it, it has none.
        chatter: Optional; a head that knows chatter by these vectors. Without it no text is rejected by its meaning.
        id: Names model, weights, prefix and pooling; vectors of two ids are never mixed.
        dim: Length of a vector.
        calibration: Raw cosine to similarity; `UNCALIBRATED` requests a measurement.
        lexical: True for a lexical fallback: nothing is skipped, evolved or merged on similarity, and results are
            marked degraded.
        languages: Optional; codes of the languages in which unrelated texts have a low similarity, as far as the
            word lists tell languages. In others similarity counts less for `min_score` of `recall`. None, or absent,
            for all.
        towards_answers: Optional; `towards_answers(question, vector)` moves the vector of a question towards those of
            texts that answer it. Without it, recall compares a question as it is.
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
        """Vectors in the order of the texts; raises `ModelError` when any text fails."""
        ...


def chatter_of(embedder: Embedder) -> ChatterHead | None:
    """The head of an embedder that knows chatter; None if it has none."""
    return getattr(embedder, "chatter", None)


class PartUnavailable(ModelUnavailable):
    """A part of a model is unavailable, which not every text needs; nothing was read.

    Args:
        error: Why it is unavailable.
        places: Positions of the texts, pairs or lists that need it; asked about the others, the model answers.
    """

    def __init__(self, error: ModelUnavailable, places: Iterable[int]) -> None:
        super().__init__(error.what, where=error.where, todo=error.todo)
        self.error = error
        self.places = frozenset(places)


class RelationModel(Protocol):
    """Predicts how a newer text relates to an older one, with calibrated probabilities.

    Attributes:
        id: Names the model and its weights; part of every reason it gives.
        repeatable: Optional; True if a pair always has the same opinion, so that a store may cache it.
        defers: True for a fake that leaves pairs without an opinion to rules and similarity. With a real model such
            pairs are never skipped, evolved or merged on similarity alone.
        read_lists: Optional; see `ListReading`. Without it each older text is read as a pair.
    """

    @property
    def id(self) -> str: ...

    @property
    def defers(self) -> bool: ...

    def bounds(self, risk: Risk) -> Bounds:
        """Least probability per action that keeps the error rate under the bound of this risk."""
        ...

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """Opinions on (old, new) in the order of the pairs; None for a pair the model cannot read.

        A pair has the same opinion in every batch, and the swapped pair has the mirrored one. Raises `ModelError` when
        the model is unavailable, `PartUnavailable` when it is for some pairs only.
        """
        ...


@runtime_checkable
class ListReading(Protocol):
    """A relation model that reads a new text beside several older ones at once, as a reader of a whole list would."""

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        """For each (new text, older texts) the opinions on the older ones, in order; None for one it cannot read.

        The opinions depend on which older texts are read together, not on their order, nor on other lists. Raises
        `ModelError` when the model is unavailable, `PartUnavailable` when it is for some lists only.
        """
        ...


@runtime_checkable
class SecondReading(Protocol):
    """A relation model that has a second reader for texts that it is not sure of."""

    def with_second_reader(self) -> RelationModel:
        """The model with its second reader; its opinions and bounds are others, so it has another id.

        It is called often, so it loads nothing. Where it fails, the model reads alone.
        """
        ...


class Judge(Protocol):
    """An optional second opinion on contradictions; it may only add a possible conflict for review.

    Attributes:
        id: Names the judge, its model and prompt; part of every reason it gives.
    """

    @property
    def id(self) -> str: ...

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """P(contradiction), 0 to 1, of each (old, new), in order; None if unknown.

        Raises `ModelError` when the judge is unavailable.
        """
        ...


class Reranker(Protocol):
    """Scores how well a memory answers a query; used for ordering only.

    Attributes:
        id: Names the model and its weights.
    """

    @property
    def id(self) -> str: ...

    def rerank(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Score of each text, 0 to 1, in order; None for a text the model cannot read.

        Raises `ModelError` when the model is unavailable.
        """
        ...


class Summariser(Protocol):
    """Writes a short text that summarises several; its output is checked before use.

    Attributes:
        id: Names the summariser, its model and prompt; part of every plan it contributes to.
    """

    @property
    def id(self) -> str: ...

    def summarise(self, texts: Sequence[str], *, limit: int) -> str:
        """A summary of the texts (oldest first) of at most `limit` characters.

        Raises `ModelError` when unavailable; it is then not called again in this run.
        """
        ...
