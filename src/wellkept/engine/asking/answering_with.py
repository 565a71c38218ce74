"""Lets a model answer open questions, batch by batch; each answer is checked and applied alone.

The model is asked outside of transactions. So it may be slow, and other writers go on. A question that closes in the
meantime is not asked, or its answer changes nothing. A question is open again when its answer is taken back; the model
that gave the answer would give it again, so that one is not asked about the same texts a second time. The journal knows
the answer, so nothing is cached.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from wellkept.engine.asking import answering, listing
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import at_most
from wellkept.errors import InvalidInput, ModelError, ModelResponseInvalid, NotFound
from wellkept.types import Answered, AnswersReport, JournalEntry, ModelAnswers, Question
from wellkept.types.questions import BATCH

NOT_ANSWERED = "no answer"
NOT_ASKED = "not asked: the model ended the call before"
NOT_OPEN = "no longer open"
TAKEN_BACK = "not asked: this model's answer was taken back"


class Questioning:
    """One call of `answer_with`: gives batches, takes their answers, reports at the end.

    Args:
        ctx: The store.
        model: The model that is asked; its `id` and its `tokens` are read if it has them.
        limit: Most questions; None for all that are open now.
        again: Whether to ask also where an answer of this model was taken back.
    """

    def __init__(self, ctx: Context, model: object, *, limit: int | None, again: bool = False) -> None:
        self._ctx, self._model = ctx, model
        self._name = _name_of(model)
        asked, taken_back = to_ask(ctx, model, limit=limit, again=again)
        self._pending = {question.id: None for question in asked}
        self._answered: list[Answered] = []
        self._left: dict[str, str] = dict.fromkeys(taken_back, TAKEN_BACK)
        self._before = self._tokens() or 0

    def batch(self) -> tuple[Question, ...]:
        """The next questions, as they are now; empty at the end."""
        while self._pending:
            ids = list(islice(self._pending, BATCH))
            now = {question.id: question for question in listing.questions(self._ctx, limit=None)}
            for gone in ids:
                if gone not in now:
                    del self._pending[gone]
                    self._left[gone] = NOT_OPEN
            if found := tuple(now[one] for one in ids if one in now):
                return found
        return ()

    def take(self, batch: Sequence[Question], said: ModelAnswers) -> None:
        """Apply the answers to a batch; None ends the call.

        Raises:
            ModelResponseInvalid: The model returned something else than answers.
        """
        if said is None:
            self._left |= dict.fromkeys(self._pending, NOT_ASKED)
            self._pending = {}
            return
        answers = _by_id(batch, said, self._name)
        for question in batch:
            self._pending.pop(question.id, None)
            text = answers.get(question.id)
            if not isinstance(text, str):
                self._left[question.id] = NOT_ANSWERED if text is None else "the answer is no text"
                continue
            try:
                self._answered.append(answering.answer(self._ctx, question.id, text, "model", model=self._name))
            except (InvalidInput, NotFound, ModelError) as error:
                self._left[question.id] = str(error)

    def report(self) -> AnswersReport:
        """What became of the questions."""
        used = self._tokens()
        tokens = None if used is None else used - self._before
        return AnswersReport(answered=tuple(self._answered), left=self._left, tokens=tokens)

    def _tokens(self) -> int | None:
        """The tokens that the model says it has used so far."""
        used = getattr(self._model, "tokens", None)
        return used if isinstance(used, int) and not isinstance(used, bool) else None


def to_ask(
    ctx: Context, model: object, *, limit: int | None, again: bool
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """The open questions that a model is asked, the most valuable first, and the ids of those that it is not.

    Args:
        ctx: The store.
        model: The model.
        limit: Most questions; None for all.
        again: Whether to ask also where an answer of this model was taken back.
    """
    most = at_most("limit", limit)
    found = listing.questions(ctx, limit=None)
    not_asked = () if again else tuple(_taken_back(ctx, found, _name_of(model)))
    return tuple(one for one in found if one.id not in not_asked)[:most], not_asked


def _name_of(model: object) -> str:
    """The name of a model and its prompt; empty if it has none."""
    return str(getattr(model, "id", ""))[:_LONGEST_NAME]


def _taken_back(ctx: Context, questions: Collection[Question], name: str) -> Iterator[str]:
    """The questions whose answer by this model was taken back, and whose texts are still those that it read.

    A model without a name may be another one than before, so it is asked.
    """
    if not name or not questions:
        return
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        entries = tx.journal(memory_ids=[one.memory.id for one in questions])
    answered = {entry.answers: entry.at for entry in entries if entry.answers and _is_by(entry, name)}
    for question in questions:
        at = answered.get(answering.entry_of(question.id))
        rows = (question.memory, *(row for one in question.candidates for row in (one.memory, *one.also)))
        if at is not None and all(row.updated_at <= at for row in rows):
            yield question.id


def _is_by(entry: JournalEntry, name: str) -> bool:
    """Whether the model of this name gave the answer of an entry."""
    return any(reason.rule == "answered_with" and reason.detail == name for reason in entry.reasons)


def _by_id(batch: Sequence[Question], said: object, name: str) -> Mapping[str, object]:
    """The answers by the ids of the questions; ids that were not asked are ignored."""
    if isinstance(said, Mapping):
        return said
    if isinstance(said, Sequence) and not isinstance(said, str | bytes) and len(said) == len(batch):
        return {question.id: text for question, text in zip(batch, said, strict=True)}
    what = f"{len(said)} answers" if isinstance(said, Sequence) and not isinstance(said, str | bytes) else "no answers"
    raise ModelResponseInvalid(
        f"asked {len(batch)} questions, the model returned {what} ({type(said).__name__})",
        where=name,
        todo="Return a mapping of ids to answers, or a list with one answer for each question",
    )


_LONGEST_NAME = 200
