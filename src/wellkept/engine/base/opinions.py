"""Opinions of the relation model in one call: each text is read once, outside transactions; a failure is a value."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from wellkept.engine.base.context import Context
from wellkept.engine.models import fail_open
from wellkept.engine.models.unanswered import UnansweredError
from wellkept.errors import ModelError
from wellkept.models.port import ListReading, PartUnavailable, RelationModel
from wellkept.policy import Risk
from wellkept.types import Degradation, NewMemory, Opinion, Reading

if TYPE_CHECKING:
    from wellkept.core.judging.evidence import Evidence, Moment
    from wellkept.core.judging.risk_bounds import Bounds

log = logging.getLogger("wellkept")

Pair = tuple[str, str]
Listing = tuple[str, tuple[str, ...]]
"""A new text and the older ones that are read beside it, in one order."""
_Asked = TypeVar("_Asked", Pair, Listing)
_Told = TypeVar("_Told")


class Opinions:
    """The relation model's opinions in one call.

    Without a model nothing is asked, and similarity alone decides nothing. After a failure the model is asked no more,
    unless only some texts need the part that failed.

    Attributes:
        failure: The last failure; None as long as every question was answered.
    """

    def __init__(self, ctx: Context) -> None:
        self._model = ctx.reader
        self._id = "" if self._model is None else self._model.id
        self._reads_lists = isinstance(self._model, ListReading)
        self._recent, self._namespace = ctx.recent, ctx.namespace
        self._repeatable = getattr(self._model, "repeatable", False)
        self._known: dict[Pair, Opinion | None] = {}
        self._listed: dict[Listing, Mapping[str, Opinion | None]] = {}
        self._kept: dict[str, Reading] = {}
        self._texts: tuple[object, Mapping[str, str]] | None = None
        self._unread: set[Pair | Listing] = set()
        self._is_down = False
        self.failure: ModelError | None = None

    @property
    def is_there(self) -> bool:
        """Whether there is a model, whether or not it has failed."""
        return self._model is not None

    @property
    def available(self) -> bool:
        """Whether there is a model that can be asked, at least about some texts."""
        return self._model is not None and not self._is_down

    @property
    def complete(self) -> bool:
        """Whether there is a model, and it has answered every question."""
        return self._model is not None and self.failure is None

    @property
    def _silence_decides(self) -> bool:
        """Whether rules and similarity decide a pair without an opinion."""
        return self.available and self._model is not None and self._model.defers

    def bounds(self, risk: Risk) -> Bounds:
        """The model's own thresholds for a risk; a failure counts as an outage."""
        from wellkept.core.judging.risk_bounds import NEVER

        if self._model is None or self._is_down:
            return NEVER
        try:
            return fail_open.bounds(self._model, risk)
        except ModelError as error:
            self._fail(error)
            return NEVER

    def ask(self, pairs: Iterable[Pair]) -> None:
        """Read the unknown pairs. An outage is stored in `failure`, not raised."""
        missing = [pair for pair in dict.fromkeys(pairs) if not self._is_known(pair)]
        for pair, opinion in self._answered(fail_open.read, missing):
            self._known[pair] = opinion
            if self._repeatable:
                self._recent.note(self._namespace, (self._id, *pair), (opinion,))

    def _is_known(self, pair: Pair) -> bool:
        if self._repeatable and pair not in self._known:
            recent = self._recent.known(self._namespace, (self._id, *pair))
            self._known.update({} if recent is None else {pair: recent[0]})
        return pair in self._known

    def ask_lists(self, lists: Iterable[Listing]) -> None:
        """Read the unknown lists. An outage is stored in `failure`, not raised."""
        missing = [listing for listing in dict.fromkeys(lists) if not self._is_list_known(listing)]
        for (new, texts), opinions in self._answered(fail_open.read_lists, missing):
            self._listed[new, texts] = dict(zip(texts, opinions, strict=True))
            if self._repeatable:
                self._recent.note(self._namespace, (self._id, "list", new, *texts), opinions)

    def _is_list_known(self, listing: Listing) -> bool:
        new, texts = listing
        if self._repeatable and listing not in self._listed:
            recent = self._recent.known(self._namespace, (self._id, "list", new, *texts))
            if recent is not None:
                self._listed[listing] = dict(zip(texts, recent, strict=True))
        return listing in self._listed

    def _answered(
        self, ask: Callable[[RelationModel, Sequence[_Asked]], Sequence[_Told]], missing: Sequence[_Asked]
    ) -> Iterable[tuple[_Asked, _Told]]:
        """The questions that the model answers, with its answers; what only a part of it cannot read is left out."""
        missing = [one for one in missing if one not in self._unread]
        if self._model is None or not missing or self._is_down:
            return ()
        try:
            return zip(missing, ask(self._model, missing), strict=True)
        except PartUnavailable as error:
            if not error.places.intersection(range(len(missing))):
                self._fail(error)
                return ()
            self._note(error.error)
            self._unread.update(one for place, one in enumerate(missing) if place in error.places)
        except ModelError as error:
            self._fail(error)
            return ()
        return self._answered(ask, missing)

    def adopt(self, readings: Iterable[Reading]) -> None:
        """Use the opinions of this model in the journal, so that the same texts are not read again."""
        if self._model is not None and self._repeatable:
            self._kept.update((one.texts, one) for one in readings if one.model == self._model.id)

    def reading(self, new: str, texts: Mapping[str, str]) -> Reading | None:
        """What the journal keeps of the opinions about a new text and these stored texts, by memory id.

        None where the model was not asked, and of a model whose answers are not repeatable.
        """
        if self._model is None or not texts or not self.available or not self._repeatable:
            return None
        from wellkept.core.judging.kept_opinions import reading_of

        return reading_of(self._model.id, new, texts, self._about(new, texts))

    def of(self, new: str, texts: Mapping[str, str]) -> dict[str, Opinion]:
        """Opinions about a new text and these stored texts, by memory id; read together if the model reads lists.

        Raises:
            UnansweredError: The model must be asked first.
        """
        if not self.available or not texts:
            return {}
        known = self._about(new, texts)
        return {of: told for of, text in texts.items() if (told := known[text]) is not None}

    def _about(self, new: str, texts: Mapping[str, str]) -> Mapping[str, Opinion | None]:
        older = tuple(sorted(set(texts.values())))
        told = self._kept_about(new, older) if self._kept else None
        if told is not None:
            return dict(zip(older, told, strict=True))
        return self._in_a_list(new, older) if self._reads_lists else self._in_pairs(new, older)

    def _kept_about(self, new: str, older: tuple[str, ...]) -> Sequence[Opinion | None] | None:
        from wellkept.core.judging.kept_opinions import digest_of, opinions_in

        kept = self._kept.get(digest_of(new, older))
        return None if kept is None else opinions_in(kept, len(older))

    def _in_a_list(self, new: str, older: tuple[str, ...]) -> Mapping[str, Opinion | None]:
        if (new, older) in self._unread:
            return dict.fromkeys(older)
        if (new, older) not in self._listed:
            raise UnansweredError(self.ask_lists, ((new, older),))
        return self._listed[new, older]

    def _in_pairs(self, new: str, older: tuple[str, ...]) -> Mapping[str, Opinion | None]:
        asked = [(text, new) for text in older if (text, new) not in self._unread]
        missing = tuple(pair for pair in asked if pair not in self._known)
        if missing:
            raise UnansweredError(self.ask, missing)
        return {text: self._known.get((text, new)) for text in older}

    def _is_unread(self, new: str, texts: Mapping[str, str]) -> bool:
        """Whether a part of the model that these texts need has failed."""
        asked = {(new, tuple(sorted(set(texts.values())))), *((text, new) for text in texts.values())}
        return not self._unread.isdisjoint(asked)

    def pairs_in(self, missing: Iterable[UnansweredError]) -> set[Pair]:
        """The pairs that these answers of the model will concern."""
        found: set[Pair] = set()
        for one in missing:
            if one.ask == self.ask:
                found.update(one.wanted)
            elif one.ask == self.ask_lists:
                found.update((text, new) for new, texts in one.wanted for text in texts)
        return found

    def added(self, new: NewMemory, evidence: Evidence, moment: Moment, risk: Risk) -> Evidence:
        """The evidence with the model's opinions on what the rules leave open, under the bounds of a risk.

        Raises:
            UnansweredError: The model must be asked first.
        """
        from wellkept.core.judging.what_to_ask import questions, texts_to_read

        if not evidence.neighbours:
            return evidence  # no candidate, so nothing to ask
        bounds = self.bounds(risk)
        if not self.available:
            return self._without(evidence)
        seen = (new, evidence.neighbours, evidence.heads)
        if self._texts is None or self._texts[0] != seen:  # the same again as before the lock was taken
            asked = questions(new, evidence, moment)
            read = texts_to_read(asked, moment.policy)
            self._texts = (seen, {memory.id: text for memory, text in zip(asked, read, strict=True)})
        texts = self._texts[1]
        told = self.of(new.content, texts)
        if self._is_unread(new.content, texts):
            return self._without(evidence)
        reading = self.reading(new.content, texts)
        return replace(evidence, opinions=told, reading=reading, bounds=bounds, unjudged=not self._silence_decides)

    def _without(self, evidence: Evidence) -> Evidence:
        """The evidence without opinions, which says so."""
        degraded: tuple[Degradation, ...] = (*evidence.degraded, "relation")
        return replace(evidence, unjudged=True, outage=self.failure is not None, degraded=degraded)

    def told(self, pairs: Iterable[Pair]) -> dict[Pair, Opinion]:
        """The known opinions on these pairs, without pairs that were not asked about or cannot be read."""
        return {pair: told for pair in pairs if (told := self._known.get(pair)) is not None}

    def _fail(self, error: ModelError) -> None:
        self._is_down = True
        self._note(error)

    def _note(self, error: ModelError) -> None:
        self.failure = error
        log.warning("Relation model failed, judging by rules alone: %s", error)
