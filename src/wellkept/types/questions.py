"""Questions about writes that the gate could not decide, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.frozen import frozen
from wellkept.types.memories import Memory
from wellkept.types.showing import count_of, line, shown

AnswerVerb: TypeAlias = Literal[
    "new", "repeats", "replaces", "replaces part of", "outdated by", "adds to", "keep both", "not worth keeping"
]
Answerer: TypeAlias = Literal["person", "agent", "model"]
AutomaticAct: TypeAlias = Literal["fold", "mark"]
ModelAnswers: TypeAlias = Mapping[str, str | None] | Sequence[str | None] | None
"""What a model says to a batch: answers by the ids of the questions, or one for each in their order."""

BATCH = 10
"""Most questions that a model is asked at once."""


@frozen
class Chance:
    """What the gate thinks of one candidate of a new text.

    Attributes:
        memory_id: The candidate.
        repeats: Probability that the new text says the same, 0 to 1, 4 decimals.
        replaces: Probability that the new text replaces it.
        number: Its number in a question; candidates that say the same have one number, 0 outside a question.
    """

    memory_id: str
    repeats: float
    replaces: float
    number: int = 0


@frozen
class QuestionRecord:
    """The question that a journal entry asks; it holds no text.

    Attributes:
        memory_id: The memory that the question is about.
        chances: The candidates with their numbers, best first.
        worth: Expected gain of an answer; questions are asked and listed by it.
        expires_at: From then on the memory stays as it was stored.
        audited: The automatic act that the question checks; empty for a write that was not decided.
    """

    memory_id: str
    chances: tuple[Chance, ...]
    worth: float
    expires_at: datetime | None = None
    audited: AutomaticAct | Literal[""] = ""


@frozen
class AnswerPart:
    """One statement of an answer: a verb and the numbers of the candidates it is about."""

    verb: AnswerVerb
    numbers: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.verb} {','.join(map(str, self.numbers))}".strip()


@frozen
class QuestionCandidate:
    """A stored memory that the new one may repeat, replace or extend.

    Attributes:
        number: Its number in answers, from 1.
        memory: The memory.
        opinion: What the gate thinks of it.
        also: Other memories that say the same; they share its number.
    """

    number: int
    memory: Memory
    opinion: Chance
    also: tuple[Memory, ...] = ()

    def __str__(self) -> str:
        return f"{self.number}. {self.memory.created_at:%Y-%m-%d} {self.memory.kind}  {line(self.memory.content)}"


@frozen(kw_only=True)
class Question:
    """A question about a stored memory: whether it is new, or repeats, replaces or extends an older one.

    The memory is stored, and nothing waits for the answer. `MemoryStore.answer` answers it.

    Attributes:
        id: `q` and the number of the journal entry that asks.
        memory: The memory in question.
        candidates: The numbered candidates, at most four, best first.
        worth: Expected gain of an answer.
        asked_at: When it was asked.
        expires_at: When it expires; the memory then stays as it is.
        audited: The automatic act that it checks; empty for a write that was not decided.
    """

    id: str
    memory: Memory
    candidates: tuple[QuestionCandidate, ...]
    worth: float
    asked_at: datetime
    expires_at: datetime | None = None
    audited: AutomaticAct | Literal[""] = ""

    def __str__(self) -> str:
        return "\n".join([f"{self.id}  {line(self.memory.content)}", *(f"  {one}" for one in self.candidates)])

    def __repr__(self) -> str:
        said = {"id": self.id, "memory": self.memory.content, "candidates": len(self.candidates)}
        return shown("Question", {**said, "worth": round(self.worth, 3), "audited": self.audited})


@frozen(kw_only=True)
class Answered:
    """The result of an answer.

    Attributes:
        question: Id of the question.
        answer: The answer in its standard form.
        by: Who answered.
        memory: The memory in question, as it is now.
        entry: Number of the journal entry, for `undo`; 0 when the same answer was known already.
        message: What was done, in one sentence.
    """

    question: str
    answer: str
    by: Answerer
    memory: Memory
    entry: int
    message: str

    def __str__(self) -> str:
        return self.message


@frozen(kw_only=True)
class AskingReport:
    """How a namespace asks, and how often its automatic acts were wrong.

    Attributes:
        open: Number of open questions.
        checked: Automatic acts that were checked by an answer, by act.
        wrong: Of these, the wrong ones.
        shifts: How much the least probability of each act has moved here; above 0 is stricter.
    """

    open: int
    checked: Mapping[str, int]
    wrong: Mapping[str, int]
    shifts: Mapping[str, float]


@frozen(kw_only=True)
class AnswersReport:
    """What became of the questions that a model was asked.

    Attributes:
        answered: The answers that were applied, in their order.
        left: Questions that stay as they were, by id, with the reason.
        tokens: Tokens that the model has used; None when it does not count them.
    """

    answered: tuple[Answered, ...]
    left: Mapping[str, str]
    tokens: int | None = None

    def __str__(self) -> str:
        used = "" if self.tokens is None else f", {count_of(self.tokens, 'token')}"
        return f"{count_of(len(self.answered), 'question')} answered, {len(self.left)} left open{used}"
