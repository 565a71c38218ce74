"""What a namespace remembers of its questions: budget, recent scores, open questions, checked acts.

It stands beside the namespace's number in the store and changes in the transaction of each write. It is a small JSON
text, bounded in size. A text that cannot be read counts as an empty state, because questions are only advice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache

from wellkept.frozen import frozen
from wellkept.types import AutomaticAct

KEPT_SCORES = 200
MOST_OPEN = 100
MOST_COUNTED = 2_000
"""Checked acts beyond this many are no longer counted."""
_MOST_WORTH, _MOST_ENTRY = 99, 2**63 - 1
ACTS: tuple[AutomaticAct, ...] = ("fold", "mark")


@frozen
class OpenQuestion:
    """An open question.

    Attributes:
        entry: Number of the journal entry that asks.
        worth: Expected gain of an answer, 0 to 99.
        of: Short name of the memory in question.
        about: Short name of its best candidate.
    """

    entry: int
    worth: float
    of: str
    about: str


@frozen
class Checked:
    """Automatic acts of one sort that answers have checked.

    Attributes:
        audited: Acts that were drawn at random and answered.
        wrong: Of these, those that an answer has overruled.
        others_wrong: Acts found wrong otherwise.
    """

    audited: int = 0
    wrong: int = 0
    others_wrong: int = 0


@frozen
class Asking:
    """The state of one namespace.

    Attributes:
        tokens: Questions that may be asked now.
        scores: The worth of the last writes, oldest first.
        open: The open questions, oldest first; at most `MOST_OPEN`.
        checked: What answers say of the automatic acts.
        forgotten: Number of the journal entry that forgot what was learned before it; 0 for none.
    """

    tokens: float = 1.0
    scores: tuple[float, ...] = ()
    open: tuple[OpenQuestion, ...] = ()
    checked: Mapping[AutomaticAct, Checked] = field(default_factory=lambda: {act: Checked() for act in ACTS})
    forgotten: int = 0

    def with_question(self, question: OpenQuestion) -> Asking:
        """The state with one more open question; above the limit the least valuable one is closed."""
        every = [*self.without(question.entry).open, question]
        if len(every) > MOST_OPEN:
            every.remove(min(every, key=lambda one: (one.worth, one.entry)))
        return replace(self, open=tuple(sorted(every, key=lambda one: one.entry)))

    def without(self, *entries: int) -> Asking:
        """The state without these questions."""
        return replace(self, open=tuple(one for one in self.open if one.entry not in entries))

    @property
    def concerned(self) -> frozenset[str]:
        """Short names of the memories that open questions are about: nobody is asked twice about one fact."""
        return frozenset(name for one in self.open for name in (one.of, one.about))


def state_of(text: str) -> Asking:
    """The state that the text holds; an empty state for a text that cannot be read.

    Example:
        >>> state_of(state_text(Asking(tokens=0.5))).tokens, state_of("{").tokens
        (0.5, 1.0)
    """
    return (read_state(text) if text else None) or Asking()


@lru_cache(maxsize=16)
def read_state(text: str) -> Asking | None:
    """The state that the text holds; None for a text that cannot be read.

    A write reads the same text twice: for the bounds, and for the budget.
    """
    try:
        plain = json.loads(text)
        checked = plain["checked"]
        return Asking(
            tokens=_within(plain["tokens"], MOST_OPEN),
            scores=tuple(_within(score, 100 * _MOST_WORTH) / 100 for score in plain["scores"][-KEPT_SCORES:]),
            open=tuple(
                OpenQuestion(int(_within(at, _MOST_ENTRY)), _within(worth, _MOST_WORTH), str(of)[:8], str(best)[:8])
                for at, worth, of, best in plain["open"][-MOST_OPEN:]
            ),
            checked={act: Checked(*(int(_within(count, MOST_COUNTED)) for count in checked[act])) for act in ACTS},
            forgotten=int(_within(plain.get("forgotten", 0), _MOST_ENTRY)),
        )
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None


def _within(number: float, most: float) -> float:
    """The number, if it lies between 0 and `most`.

    Raises:
        ValueError: It does not, so that the text was not written here.
    """
    if 0 <= number <= most:
        return number
    raise ValueError(f"{str(number)[:40]} is not between 0 and {most}")


def state_text(state: Asking) -> str:
    """The state as JSON: equal states give equal texts."""
    plain = {
        "tokens": round(state.tokens, 3),
        "scores": [round(score * 100) for score in state.scores[-KEPT_SCORES:]],
        "open": [[one.entry, round(one.worth, 4), one.of, one.about] for one in state.open],
        "checked": {act: [one.audited, one.wrong, one.others_wrong] for act, one in sorted(state.checked.items())},
        **({"forgotten": state.forgotten} if state.forgotten else {}),
    }
    return json.dumps(plain, separators=(",", ":"), sort_keys=True)
