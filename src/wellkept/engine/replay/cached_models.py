"""Embedder and relation model of a replay, asked only for results that are not stored or cached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from wellkept.core.judging.risk_bounds import Bounds
from wellkept.engine.base.opinions import Listing
from wellkept.engine.history.past import Past
from wellkept.engine.models import fail_open
from wellkept.engine.models.embedding import usable, vector_key
from wellkept.engine.models.wrapped_embedder import WrappingEmbedder
from wellkept.errors import ModelError
from wellkept.models.port import Embedded, Embedder, RelationModel, SecondReading
from wellkept.policy import Risk
from wellkept.types import Opinion

_KEPT = 20_000
_Asked = TypeVar("_Asked")
_Told = TypeVar("_Told")


class StoredFirst(WrappingEmbedder):
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
        """Record what the journal tells of a vector: `chunks`, and `spelled` for an embedder that has no `about`."""
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
        chunks, spelled = self._known[key]
        told = self.about(text)
        return replace(told, vector=self._past.vectors((key,))[key], chunks=chunks, spelled=told.spelled or spelled)

    def _ask(self, texts: Sequence[str]) -> Sequence[Embedded]:
        if not texts:
            return []
        try:
            return usable(fail_open.embed(self._embedder, texts), len(texts), self._embedder)
        except ModelError as error:
            self.failure = error
            raise


class AskedOnce:
    """The relation model, asked once about each pair and list, because differing decisions are evaluated repeatedly."""

    def __init__(self, model: RelationModel) -> None:
        self._model = model
        self._second: AskedOnce | None = None
        self._told: dict[tuple[str, str], Opinion | None] = {}
        self._listed: dict[Listing, tuple[Opinion | None, ...]] = {}
        self._failure: ModelError | None = None

    @property
    def id(self) -> str:
        """See `RelationModel`."""
        return self._model.id

    @property
    def defers(self) -> bool:
        """See `RelationModel`."""
        return self._model.defers

    @property
    def failure(self) -> ModelError | None:
        """The last failure, also of the second reader."""
        return self._failure or (self._second.failure if self._second is not None else None)

    def with_second_reader(self) -> AskedOnce:
        """See `SecondReading.with_second_reader`; the model as it is if it has none."""
        if not isinstance(self._model, SecondReading):
            return self
        if self._second is None:
            self._second = AskedOnce(self._model.with_second_reader())
        return self._second

    def bounds(self, risk: Risk) -> Bounds:
        """See `RelationModel.bounds`."""
        try:
            return fail_open.bounds(self._model, risk)
        except ModelError as error:
            self._failure = error
            raise

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """See `RelationModel.read`."""
        return self._once(self._told, fail_open.read, list(pairs))

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        """See `ListReading.read_lists`."""
        given = [(new, tuple(texts)) for new, texts in lists]
        return [list(told) for told in self._once(self._listed, fail_open.read_lists, given)]

    def _once(
        self,
        known: dict[_Asked, _Told],
        ask: Callable[[RelationModel, list[_Asked]], list[_Told]],
        wanted: list[_Asked],
    ) -> list[_Told]:
        if len(known) > _KEPT:
            known.clear()
        missing = [one for one in dict.fromkeys(wanted) if one not in known]
        try:
            told = ask(self._model, missing) if missing else []
        except ModelError as error:
            self._failure = error
            raise
        known.update(zip(missing, told, strict=True))
        return [known[one] for one in wanted]
