"""Opinions of the relation model in one call: each pair is read once, outside transactions; a failure is a value."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from wellkept.engine.base.context import Context
from wellkept.engine.models import fail_open
from wellkept.engine.models.unanswered import UnansweredError
from wellkept.errors import ModelError
from wellkept.policy import Risk
from wellkept.types import Degradation, NewMemory, Opinion

if TYPE_CHECKING:
    from wellkept.core.judging.evidence import Evidence, Moment
    from wellkept.core.judging.risk_bounds import Bounds

log = logging.getLogger("wellkept")

Pair = tuple[str, str]


class Opinions:
    """The relation model's opinions in one call.

    Without a model nothing is asked, and similarity alone decides nothing.
    """

    def __init__(self, ctx: Context) -> None:
        self._model = ctx.relation_model
        self._recent, self._namespace = ctx.recent, ctx.namespace
        self._repeatable = getattr(ctx.relation_model, "repeatable", False)
        self._known: dict[Pair, Opinion | None] = {}
        self.failure: ModelError | None = None

    @property
    def available(self) -> bool:
        """Whether there is a model that has not failed."""
        return self._model is not None and self.failure is None

    @property
    def _silence_decides(self) -> bool:
        """Whether rules and similarity decide a pair without an opinion."""
        return self.available and self._model is not None and self._model.defers

    def bounds(self, risk: Risk) -> Bounds:
        """The model's own thresholds for a risk; a failure counts as an outage."""
        from wellkept.core.judging.risk_bounds import NEVER

        if self._model is None or self.failure is not None:
            return NEVER
        try:
            return fail_open.bounds(self._model, risk)
        except ModelError as error:
            self._fail(error)
            return NEVER

    def ask(self, pairs: Iterable[Pair]) -> None:
        """Read the unknown pairs. An outage is stored in `failure`, not raised."""
        missing = [pair for pair in dict.fromkeys(pairs) if not self._is_known(pair)]
        if self._model is None or not missing or self.failure is not None:
            return
        try:
            told = fail_open.read(self._model, missing)
        except ModelError as error:
            self._fail(error)
            return
        for pair, opinion in zip(missing, told, strict=True):
            self._known[pair] = opinion
            if self._repeatable:
                self._recent.note(self._namespace, pair, opinion)

    def _is_known(self, pair: Pair) -> bool:
        if self._repeatable and pair not in self._known:
            self._known.update((pair, opinion) for opinion in self._recent.known(self._namespace, pair))
        return pair in self._known

    def of(self, new: str, texts: Mapping[str, str]) -> dict[str, Opinion]:
        """Opinions about a new text and each of these stored texts, by memory id.

        Raises:
            UnansweredError: The model must be asked about some pairs first.
        """
        if not self.available:
            return {}
        pairs = {memory_id: (text, new) for memory_id, text in texts.items()}
        missing = tuple(pair for pair in pairs.values() if pair not in self._known)
        if missing:
            raise UnansweredError(self.ask, missing)
        return {of: told for of, pair in pairs.items() if (told := self._known[pair]) is not None}

    def added(self, new: NewMemory, evidence: Evidence, moment: Moment, risk: Risk) -> Evidence:
        """The evidence with the model's opinions on what the rules leave open, under the bounds of a risk.

        Raises:
            UnansweredError: The model must be asked about some pairs first.
        """
        from wellkept.core.judging.what_to_ask import questions, text_to_read

        if not evidence.neighbours:
            return evidence  # no candidate, so nothing to ask
        bounds = self.bounds(risk)
        if not self.available:
            degraded: tuple[Degradation, ...] = (*evidence.degraded, "relation")
            return replace(evidence, unjudged=True, outage=self.failure is not None, degraded=degraded)
        asked = questions(new, evidence, moment)
        told = self.of(new.content, {memory.id: text_to_read(memory, moment.policy) for memory in asked})
        return replace(evidence, opinions=told, bounds=bounds, unjudged=not self._silence_decides)

    def told(self, pairs: Iterable[Pair]) -> dict[Pair, Opinion]:
        """The known opinions on these pairs, without pairs that were not asked about or cannot be read."""
        return {pair: told for pair in pairs if (told := self._known.get(pair)) is not None}

    def _fail(self, error: ModelError) -> None:
        self.failure = error
        log.warning("Relation model failed, judging by rules alone: %s", error)
