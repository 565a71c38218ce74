"""Answers of the judge in one call: asked outside transactions, after all other models; a failure is a value."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from numbers import Real

from wellkept.core.gate.judge_review import left_open, reviewed, unreviewed
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.engine.models import fail_open
from wellkept.engine.models.unanswered import UnansweredError
from wellkept.errors import ModelError, ModelResponseInvalid
from wellkept.models.port import Judge
from wellkept.types import Decision, NewMemory

log = logging.getLogger("wellkept")

Pair = tuple[str, str]


class Judgements:
    """The judge's answers in one call. After a failure it is not asked again in that call.

    Args:
        judge: None when there is none; decisions are then unchanged.
    """

    def __init__(self, judge: Judge | None) -> None:
        self._judge = judge
        self._known: dict[Pair, float | None] = {}
        self._name = ""
        self.failure: ModelError | None = None

    @property
    def available(self) -> bool:
        """Whether there is a judge that has not failed."""
        return self._judge is not None and self.failure is None

    def ask(self, pairs: Iterable[Pair]) -> None:
        """Judge the unknown pairs. An outage is stored in `failure`, not raised."""
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if self._judge is None or not missing or self.failure is not None:
            return
        try:
            self._name, told = _asked(self._judge, missing)
        except ModelError as error:
            self.failure = error
            log.warning("Judge failed, stored without it: %s", error)
            return
        self._known.update(zip(missing, told, strict=True))

    def decided(self, new: NewMemory, evidence: Evidence, moment: Moment) -> Decision:
        """The core's decision, with the possible conflicts found by the judge.

        Raises:
            UnansweredError: The judge must be asked about some pairs first.
        """
        decision = fail_open.judged(new, evidence, moment)
        if self._judge is None:
            return decision
        asked = left_open(decision, new, evidence, moment)
        pairs = {item.memory.id: (item.memory.content, new.content) for item in asked}
        missing = tuple(pair for pair in pairs.values() if pair not in self._known)
        if missing and self.failure is not None:
            return unreviewed(decision)
        if missing:
            raise UnansweredError(self.ask, missing)
        told = {memory_id: self._known[pair] for memory_id, pair in pairs.items()}
        return reviewed(decision, asked, told, judge=self._name, moment=moment) if told else decision


def _asked(judge: Judge, pairs: Sequence[Pair]) -> tuple[str, list[float | None]]:
    """The judge's version and its answers.

    Raises:
        ModelError: The judge failed in any way, or did not give a probability for every pair.
    """
    kind = type(judge).__name__
    with fail_open.guarded("the judge failed", kind):
        told = list(judge.judge(pairs))
        name = str(getattr(judge, "id", kind))
    if len(told) != len(pairs):
        raise ModelResponseInvalid(f"asked about {len(pairs)} pairs, got {len(told)} answers", where=name)
    return name, [_probability(value, name) for value in told]


def _probability(value: object, judge: str) -> float | None:
    if value is None:
        return None
    share = float(value) if isinstance(value, Real) else -1.0
    if not 0 <= share <= 1:
        raise ModelResponseInvalid("the judge gave something that is not a probability", where=judge)
    return round(share, 4)
