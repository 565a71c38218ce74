"""`wellkept answer` without arguments: goes through the open questions, one key an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING

from wellkept.cli.terminal import questions as view
from wellkept.cli.terminal.render import styled
from wellkept.cli.terminal.session import Session
from wellkept.errors import AlreadyAnswered, IllegalTransition, InvalidAnswer, UndoBlocked
from wellkept.frozen import frozen
from wellkept.types import Answerer, AnswerPart, AnswerVerb, Question
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

ANSWERS: Mapping[str, AnswerVerb] = {
    "n": "new",
    "r": "repeats",
    "p": "replaces",
    "m": "replaces part of",
    "o": "outdated by",
    "a": "adds to",
    "b": "keep both",
    "x": "not worth keeping",
}
"""The answer of each key."""
_OF_A_CANDIDATE = frozenset("rpmoab")
_SKIP, _UNDO, _QUIT, _TYPE = "s", "u", "q", "t"
_HELP = (
    "n new · r repeats · p replaces · m replaces part of · o outdated by · a adds to · b keep both\n"
    "x not worth keeping · t type the answer · s skip · u undo the last · q quit"
)


@frozen
class _Step:
    """A question that is done with; the entry of its answer is 0 when it was skipped."""

    question: str
    entry: int = 0


@dataclass(slots=True)
class _Round:
    """One pass through the questions.

    Attributes:
        press: Waits for a key.
        steps: What was done, oldest first.
        again: The question to show next, because its answer was taken back.
        closed: Questions that somebody else answered meanwhile.
        numbers: The candidates of the question that is shown.
        picked: The candidate that the next answer is about; 0 for none.
    """

    run: Session
    store: MemoryStore
    by: Answerer
    press: Callable[[], str]
    steps: list[_Step] = field(default_factory=list)
    again: str = ""
    closed: set[str] = field(default_factory=set)
    numbers: list[int] = field(default_factory=list)
    picked: int = 0

    def through(self) -> None:
        """Go through the questions; at the end the last answer can still be taken back."""
        while True:
            while (question := self.question()) is not None:
                if not self.settle(question):
                    return
            if not self.steps:
                self.run.print("No open questions")
                return
            self.run.print(styled("\nNo question is left · u undo the last · any other key ends", "dim"))
            if self._key() != _UNDO or not self._undo():
                return

    def question(self) -> Question | None:
        """Show the next question; None when none is left."""
        done = {step.question for step in self.steps} | self.closed
        left = [one for one in self.store.questions(limit=None) if one.id not in done]
        if not left:
            return None
        found = next((one for one in left if one.id == self.again), left[0])
        self.again = ""
        self.run.print("")
        self.run.print(styled(f"{count_of(len(left), 'question')} left", "dim"))
        for part in view.shown(found, self.store.conflicts(), differences=True):
            self.run.print(part)
        return found

    def settle(self, question: Question) -> bool:
        """Take keys until the question is done with or another one comes; False to quit."""
        self.numbers = [one.number for one in question.candidates]
        self.picked = self.numbers[0] if len(self.numbers) == 1 else 0
        self._help()
        while (key := self._key()) != _QUIT:
            if self._done(key, question):
                return True
        return False

    def _done(self, key: str, question: Question) -> bool:
        """Follow a key; False if the question is still to be answered."""
        if key == _SKIP:
            self.steps.append(_Step(question.id))
            return True
        if key == _UNDO:
            return self._undo()
        if key == _TYPE:
            return self._answer(question, self.run.out.input(f"answer {question.id}: "))
        if key in ANSWERS:
            return self._pressed(key, question)
        if self._is_number(key):
            self.picked = int(key)
            self.run.print(styled(f"candidate {key}", "dim"))
        else:
            self._help()
        return False

    def _pressed(self, key: str, question: Question) -> bool:
        """Answer by a key; where there are several candidates and none was picked, ask which one."""
        if key not in _OF_A_CANDIDATE:
            return self._answer(question, ANSWERS[key])
        if not self.picked:
            self.run.print(styled(f"{ANSWERS[key]} which one? {', '.join(map(str, self.numbers))}", "dim"))
            number = self._key()
            if not self._is_number(number):
                self.run.print("Not answered: that is no candidate")
                return False
            self.picked = int(number)
        return self._answer(question, str(AnswerPart(ANSWERS[key], (self.picked,))))

    def _key(self) -> str:
        """One key; of several at once, as of an arrow or a paste, the first counts."""
        return self.press()[:1].casefold()

    def _is_number(self, key: str) -> bool:
        return key in map(str, self.numbers)

    def _answer(self, question: Question, text: str) -> bool:
        """Answer the question; False if it is still to be answered."""
        try:
            done = self.store.answer(question.id, text, by=self.by)
        except InvalidAnswer as error:
            self.run.print(styled(str(error), "yellow"))
            return False
        except AlreadyAnswered as error:
            self.run.print(styled(str(error), "yellow"))
            self.closed.add(question.id)
            return True
        self.steps.append(_Step(question.id, done.entry))
        for part in view.done(done):
            self.run.print(part)
        return True

    def _undo(self) -> bool:
        """Take the last answer or skip back; False if nothing was taken back."""
        if not self.steps:
            self.run.print("There is nothing to undo")
            return False
        step = self.steps[-1]
        if step.entry:
            try:
                self.store.undo(step.entry)
            except (IllegalTransition, UndoBlocked) as error:
                self.run.print(styled(str(error), "yellow"))
                return False
        self.steps.pop()
        self.again = step.question
        self.run.print(f"{step.question}: {'the answer is taken back' if step.entry else 'no longer skipped'}")
        return True

    def _help(self) -> None:
        picks = f"{', '.join(map(str, self.numbers))} pick a candidate · " if len(self.numbers) > 1 else ""
        self.run.print(styled(f"{picks}{_HELP}", "dim"))


def go_through(run: Session, store: MemoryStore, by: Answerer, *, press: Callable[[], str]) -> None:
    """Show each open question, most valuable first, until each is done with or the person quits.

    Args:
        run: Where the questions are shown.
        store: The store.
        by: Who answers.
        press: Waits for a key.
    """
    this = _Round(run, store, by, press)
    try:
        this.through()
    except EOFError:  # the terminal is gone, or the person pressed Ctrl-D
        pass
    if not this.steps:
        return
    answers = [step for step in this.steps if step.entry]
    skipped = len(this.steps) - len(answers)
    run.print(f"{count_of(len(answers), 'answer')}" + (f", {skipped} skipped" if skipped else ""))
    if answers:
        first = next(entry for entry in store.journal(after=answers[0].entry - 1) if entry.seq == answers[0].entry)
        since = f"{first.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
        run.print(styled(f"`wellkept undo --by {by} --since {since}` takes them back", "dim"))
