"""Embedder and relation model of a replay, asked only for results that are not stored or cached."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.judging.risk_bounds import Bounds
from wellkept.engine.history.past import Past
from wellkept.engine.models import fail_open
from wellkept.engine.models.embedding import usable, vector_key
from wellkept.engine.models.in_front import InFront
from wellkept.errors import ModelError
from wellkept.models.port import Embedded, Embedder, RelationModel
from wellkept.policy import Risk
from wellkept.types import Opinion

_KEPT_PAIRS = 20_000


class StoredFirst(InFront):
    """The store's embedder, called only for texts without a stored vector."""

    def __init__(self, embedder: Embedder, past: Past) -> None:
        super().__init__(embedder)
        self._past = past
        self._known: dict[str, tuple[int, bool]] = {}
        self._made: dict[str, Embedded] = {}
        self._exact = False
        self.used = False
        self.failure: ModelError | None = None

    def begin(self, *, exact: bool) -> None:
        """Start the next decision; with `exact`, stored vectors are recomputed as well."""
        self._exact = exact
        self.used = False

    def note(self, key: str, chunks: int, *, spelled: bool) -> None:
        """Record the values the embedder reported with a vector: `chunks` and `spelled`."""
        self._known.setdefault(key, (chunks, spelled))

    def make(self, texts: Sequence[str], *, keep: bool) -> None:
        """Compute missing vectors in one batch: kept for the whole replay, or only for the next page.

        Raises:
            ModelError: The embedder failed.
        """
        missing = [text for text in dict.fromkeys(texts) if not self._past.knows(vector_key(text))]
        made = dict(zip(missing, self._ask(missing), strict=True))
        if keep:
            kept = {vector_key(text): one.vector for text, one in made.items() if one.vector is not None}
            self._past.keep(kept)
        else:
            self._made = made

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """See `Embedder.embed`."""
        found = {text: one for text in texts if (one := self._stored(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        found.update(zip(missing, self._ask(missing), strict=True))
        return [found[text] for text in texts]

    def _stored(self, text: str) -> Embedded | None:
        key = vector_key(text)
        if text in self._made:
            return self._made[text]
        if self._exact or key not in self._known or not self._past.knows(key):
            return None
        self.used = True
        return Embedded(self._past.vectors((key,))[key], *self._known[key])

    def _ask(self, texts: Sequence[str]) -> Sequence[Embedded]:
        if not texts:
            return []
        try:
            return usable(fail_open.embed(self._embedder, texts), len(texts), self._embedder)
        except ModelError as error:
            self.failure = error
            raise


class AskedOnce:
    """The relation model, asked about each pair once, because differing decisions are evaluated repeatedly."""

    def __init__(self, model: RelationModel) -> None:
        self._model = model
        self._told: dict[tuple[str, str], Opinion | None] = {}
        self.failure: ModelError | None = None

    @property
    def id(self) -> str:
        """See `RelationModel`."""
        return self._model.id

    @property
    def defers(self) -> bool:
        """See `RelationModel`."""
        return self._model.defers

    def bounds(self, risk: Risk) -> Bounds:
        """See `RelationModel.bounds`."""
        try:
            return fail_open.bounds(self._model, risk)
        except ModelError as error:
            self.failure = error
            raise

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """See `RelationModel.read`."""
        if len(self._told) > _KEPT_PAIRS:
            self._told.clear()
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._told]
        try:
            told = fail_open.read(self._model, missing) if missing else []
        except ModelError as error:
            self.failure = error
            raise
        self._told.update(zip(missing, told, strict=True))
        return [self._told[pair] for pair in pairs]
