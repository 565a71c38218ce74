"""Which undecided writes are asked about: a share of the best, within a budget.

A question costs somebody's time, so only some writes are asked about. How likely an answer changes something, what a
wrong state costs, and how often the memories are read give the worth of a question. A write is asked about if its worth
is among the highest of the last writes, as many as the budget allows, and the budget is not used up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import log1p

from wellkept.core.asking.state import KEPT_SCORES, Asking, OpenQuestion
from wellkept.types import Chance, Memory, QuestionRecord

COST_OF_REPEAT, COST_OF_STALE = 1.5, 1.0
"""What a repeat that stands twice costs, and a value that is shown although it is outdated. Chosen on the selection
stories, so that both are asked about alike: the gate is more careful with folds, so their probability is low."""
LEAST_WORTH = 0.05
"""Below it nobody is asked, whatever the budget."""
WORTH_OF_RETURN = 1.0
"""Worth of asking about a text that restates an outdated memory: it may be true again."""
MOST_SAVED = 3.0
"""Most questions that a namespace saves up."""
AUDITED_ONE_IN = 50
_USED, _MOST_USED = 0.1, 0.5
"""How much the logarithm of the uses of a memory adds to its worth, and at most."""
TYPICAL: Sequence[float] = (
    *(1.41, 0.98, 0.91, 0.84, 0.77, 0.69, 0.56, 0.47, 0.41, 0.33, 0.27, 0.23, 0.19, 0.15, 0.12, 0.09, 0.07, 0.06, 0.05),
    *(0.04, 0.03, 0.03, 0.02, 0.02, 0.01, 0.01, *[0.0] * 24),
)
"""Quantiles of the worths of writes, on the selection stories; they stand for the writes before the first."""


def worth_of(chances: Iterable[Chance], rows: Mapping[str, Memory]) -> float:
    """The expected gain of an answer: of the likeliest repeat and of the likeliest update together.

    Args:
        chances: The candidates, without those that the gate has acted on.
        rows: The candidates by id, for their use; some may be missing.

    Example:
        >>> worth_of([Chance("a", repeats=0.5, replaces=0.1), Chance("b", repeats=0.0, replaces=0.2)], {})
        0.95
    """
    found = [(one, _often(rows.get(one.memory_id))) for one in chances]
    repeat = max((often * one.repeats for one, often in found), default=0.0)
    update = max((often * one.replaces for one, often in found), default=0.0)
    return round(COST_OF_REPEAT * repeat + COST_OF_STALE * update, 4)


def _often(row: Memory | None) -> float:
    """How much more a memory counts that is read often."""
    return 1.0 + min(_MOST_USED, _USED * log1p(row.access_count if row is not None else 0))


def is_worthless(chances: Iterable[Chance]) -> bool:
    """Whether nobody is asked about these candidates, however often they are used.

    Example:
        >>> is_worthless([Chance("a", repeats=0.01, replaces=0.01)]), is_worthless([Chance("a", 0.0, replaces=0.05)])
        (True, False)
    """
    return worth_of(chances, {}) * (1.0 + _MOST_USED) < LEAST_WORTH


def counted(state: Asking, worth: float, per_100: float) -> tuple[Asking, bool]:
    """The state after one more write, and whether its worth is high enough to ask; a question costs one token.

    Args:
        state: The state before.
        worth: The worth of asking about the write; 0 where the gate has decided.
        per_100: Questions per 100 writes.
    """
    share = per_100 / 100
    known = (*TYPICAL, *state.scores)[-KEPT_SCORES:]
    tokens = min(max(MOST_SAVED, share), state.tokens + share)
    after = replace(state, tokens=tokens, scores=(*state.scores, worth)[-KEPT_SCORES:])
    # The more is saved, the lower the bar: a budget that is left over is worth nothing.
    return after, worth >= LEAST_WORTH and tokens >= 1 and worth > _bar(known, share * tokens)


def paid(state: Asking) -> Asking:
    """The state after a question."""
    return replace(state, tokens=max(0.0, state.tokens - 1))


def _bar(known: Sequence[float], share: float) -> float:
    """The worth that this share of the known writes exceeds."""
    if not known or share >= 1:
        return 0.0
    ordered = sorted(known, reverse=True)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def opened(record: QuestionRecord, entry: int) -> OpenQuestion:
    """The open question of a journal entry."""
    return OpenQuestion(entry, record.worth, name_of(record.memory_id), name_of(record.chances[0].memory_id))


def is_drawn(memory_id: str) -> bool:
    """Whether the automatic act about this memory is one of those to check: one in fifty, by a hash of the id."""
    return int(hashlib.sha256(memory_id.encode()).hexdigest()[:8], 16) % AUDITED_ONE_IN == 0


def name_of(memory_id: str) -> str:
    """A short name of a memory, for `OpenQuestion.about`."""
    return hashlib.sha256(memory_id.encode()).hexdigest()[:8]
