"""Questions about writes that the gate could not decide: listed, answered, taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from wellkept.core.asking.answer_list import answers_in
from wellkept.core.asking.answer_text import HOW, answer_of
from wellkept.core.asking.candidates import MOST_SHOWN
from wellkept.engine.base.inputs import MAX_LIMIT
from wellkept.errors import AlreadyAnswered, InvalidAnswer, NotFound
from wellkept.frozen import frozen
from wellkept.operations import inputs, outputs
from wellkept.operations.pages import page
from wellkept.operations.parts import Given, Moment
from wellkept.operations.row import reads, writes
from wellkept.operations.shapes import answer as shape
from wellkept.operations.shapes import as_output, shape_of
from wellkept.types import Answered, Answerer, AskingReport, Question, Rightness

if TYPE_CHECKING:
    from pydantic import BaseModel

    from wellkept.engine.verbs.store import MemoryStore

MAX_ANSWERS = 20_000
"""Maximum length of the answers in one call, in characters."""


class Questions(Given):
    """A number of questions."""

    limit: int = Field(20, ge=0, le=MAX_LIMIT, description="At most this many; more says whether others follow.")


class Answer(Given):
    """An answer, or several."""

    question: str = Field("", description="A question's id; text is then its answer alone.")
    text: str = Field(
        description=f"As in 'q17 replaces 1; q18 new'. Answers: {HOW}; 'repeats 2 and replaces 1'. "
        "New: about something else. Replaces: the new text holds now and N does not. Adds to: both hold. "
        "Keep both: they contradict each other and both stand.",
        max_length=MAX_ANSWERS,
    )
    by: Answerer = Field("agent", description="Who answers; what a person says is replaced is superseded.")


class UndoAnswers(Given):
    """The answers to take back."""

    since: Moment | None = Field(None, description="Only answers from this time on. ISO 8601.")
    by: Answerer | None = Field(None, description="Only answers of a person, an agent or a model.")


class Judge(inputs.Undo):
    """A verdict on a decision."""

    verdict: Rightness = Field(description="right: the decision fits. wrong: it does not. unsure: nobody can say.")


@frozen
class AnswerError:
    """An answer that changed nothing: the question, the kind of error, and the reason."""

    question: str
    error: str
    message: str


Asked = shape(
    "Asked",
    "The open questions, the most valuable first. If more is true, others follow.",
    questions=tuple[Question, ...],
    more=bool,
)
AllAnswered = shape(
    "AllAnswered",
    "What each answer has done; of several, those that changed nothing, with the reason.",
    answered=tuple[Answered, ...],
    errors=tuple[AnswerError, ...],
)
Forgotten = shape("Forgotten", "Whether it was done.", forgotten=bool)


def questions(store: MemoryStore, given: Questions) -> BaseModel:
    """`questions`."""
    shown, more = page(store.questions(limit=None), given.limit)
    return as_output(Asked, {"questions": shown, "more": more})


def answer(store: MemoryStore, given: Answer) -> BaseModel:
    """`answer`: a single one raises its error, of several each has its own transaction and its result or error."""
    asked = ((given.question, given.text),) if given.question else answers_in(given.text)
    if not given.question:
        for _, text in asked:  # a text that cannot be read as a whole changes nothing
            answer_of(text, range(1, MOST_SHOWN + 1))
    done: list[Answered] = []
    failed: list[AnswerError] = []
    for question, text in asked:
        try:
            done.append(store.answer(question, text, by=given.by))
        except (InvalidAnswer, AlreadyAnswered, NotFound) as error:
            if len(asked) == 1:
                raise
            failed.append(AnswerError(question, type(error).__name__, str(error)))
    return as_output(AllAnswered, {"answered": done, "errors": failed})


def forget_lessons(store: MemoryStore, given: inputs.Nothing) -> BaseModel:
    """`forget_lessons`."""
    store.forget_lessons()
    return as_output(Forgotten, {"forgotten": True})


ASKING = (
    reads(
        "questions",
        "Open questions",
        "Writes that could not be decided, the most valuable first: each with numbered earlier memories that it may "
        "repeat, replace or extend.",
        Questions,
        Asked,
        handler=questions,
        toolset="default",
    ),
    writes(
        "answer",
        "Answer questions",
        "Answer questions, many in one call. If you do not know, leave them open: nothing waits. The first answer "
        "counts.",
        Answer,
        AllAnswered,
        handler=answer,
        toolset="default",
    ),
    writes(
        "undo_answers",
        "Take answers back",
        "Undo answers, newest first; their questions are open again. What later changes depend on is kept and listed.",
        UndoAnswers,
        outputs.RunUndone,
    ),
    reads(
        "asking",
        "How the store asks",
        "Number of open questions; how many automatic acts answers have checked, how many of them were wrong, and how "
        "much stricter the bounds have become.",
        inputs.Nothing,
        shape_of(AskingReport),
    ),
    writes(
        "forget_lessons",
        "Forget lessons",
        "Forget what answers have taught the store about its automatic acts; questions and answers stay.",
        inputs.Nothing,
        Forgotten,
        scope="admin",
        handler=forget_lessons,
        toolset="none",
    ),
    writes(
        "judge",
        "Judge a decision",
        "Say whether a past decision about a write was right, as a person sees it. It changes no memory; the verdicts "
        "give the error rate of this store.",
        Judge,
        outputs.Entry,
    ),
)
