"""Verbs for questions: list them, answer them, take answers back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from wellkept.engine.base.inputs import moment
from wellkept.errors import InvalidField, use_one_of
from wellkept.types import (
    Answerer,
)

if TYPE_CHECKING:
    from wellkept.engine.base.context import Context
    from wellkept.types import (
        Answered,
        AnswersReport,
        AskingReport,
        ModelAnswers,
        Question,
        Rightness,
        UndoReport,
    )


class AskingVerbs:
    """Verbs about writes that the gate could not decide, or that somebody judges; inherited by `MemoryStore`."""

    _ctx: Context

    def questions(self, *, limit: int | None = 20) -> tuple[Question, ...]:
        """The open questions, the most valuable first: writes that the gate could not decide.

        Nothing waits for an answer. A question closes when it is answered, when the memory in question is no longer
        current, or when it expires.

        Args:
            limit: Most questions; None for all.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.questions()
            ()
        """
        from wellkept.engine.asking import listing

        return listing.questions(self._ctx, limit=limit)

    def answer(self, question: str, text: str, *, by: Answerer = "agent") -> Answered:
        """Answer a question. The first answer counts; the same answer again changes nothing.

        Args:
            question: Its id, such as `q17`.
            text: `new`, `repeats 1`, `replaces 1`, `replaces part of 1`, `outdated by 1`, `adds to 1`, `keep both 1` or
                `not worth keeping`; `repeats 1,2` names several candidates, `repeats 2 and replaces 1` says two things.
            by: Who answers. A person's `replaces` supersedes the older memory; that of an agent or a model marks it as
                outdated, unless the policy says `answers = "supersede"`.

        Returns:
            The answer in its standard form, the memory as it is now, and the journal entry for `undo`.

        Raises:
            InvalidAnswer: The text is none of the answers; nothing was changed.
            AlreadyAnswered: It was answered in another way, or is no longer open.
            NotFound: There is no such question.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:") as store:
            ...     _ = store.remember("The standup is at ten.")
            ...     question = store.remember("Standup starts half an hour earlier.").question
            ...     answered = store.answer(question.id, "replaces 1")
            ...     [hit.memory.content for hit in store.recall("When is the standup?")]
            ['Standup starts half an hour earlier.', 'The standup is at ten.']
        """
        from wellkept.engine.asking import answering

        if by not in get_args(Answerer):
            raise InvalidField(f"{by!r} does not answer", where="by", todo=use_one_of(by, get_args(Answerer)))
        return answering.answer(self._ctx, question, text, by)

    def answer_with(
        self, model: Callable[[Sequence[Question]], ModelAnswers], *, limit: int | None = None, again: bool = False
    ) -> AnswersReport:
        """Let a model answer the open questions, the most valuable first, in batches of at most ten.

        Each answer is checked and applied alone, as by `answer` with `by="model"`. One that is invalid leaves its
        question open. If the model raises an error, the call ends with it, and the answers before it stay. A model with
        an `id` is not asked again where its answer was taken back, until one of the texts changes.

        Args:
            model: Gets a batch of questions. It returns their answers by id, or one answer for each in their order;
                a missing answer or None leaves a question open. None instead of all answers ends the call. If it has
                an `id`, the journal names it; if it has a number `tokens`, the report says how many were used.
            limit: Most questions; None for all that are open now.
            again: Ask also where an answer of this model was taken back.

        Returns:
            The answers that were applied, and why the other questions stay open.

        Raises:
            ModelResponseInvalid: The model returned something else.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:") as store:
            ...     _ = store.remember("The standup is at ten.")
            ...     _ = store.remember("Standup starts half an hour earlier.")
            ...     print(store.answer_with(lambda questions: {one.id: "replaces 1" for one in questions}))
            1 question answered, 0 left open
        """
        from wellkept.engine.asking import answering_with

        asking = answering_with.Questioning(self._ctx, model, limit=limit, again=again)
        while batch := asking.batch():
            asking.take(batch, model(batch))
        return asking.report()

    def undo_answers(self, *, since: datetime | str | None = None, by: Answerer | None = None) -> UndoReport:
        """Take answers back, newest first; their questions are open again.

        Args:
            since: Only answers from this time on.
            by: Only answers of a person, an agent or a model.

        Returns:
            The entries that were undone, and those that later changes depend on.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.undo_answers(since="2026-03-01").undone
            ()
        """
        from wellkept.engine.asking import taking_back

        return taking_back.undo_answers(self._ctx, since=moment("since", since), by=by)

    def asking(self) -> AskingReport:
        """How this store asks: open questions, checked automatic acts and how many were wrong, changed bounds.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.asking().open
            0
        """
        from wellkept.engine.asking import listing

        return listing.report(self._ctx)

    def forget_lessons(self) -> None:
        """Forget what answers have taught this store about its automatic acts; questions and answers stay.

        It is a journal entry; `undo` brings the lessons back.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.forget_lessons()
        """
        from wellkept.engine.asking import listing

        listing.forget_lessons(self._ctx)

    def judge(self, entry: int, verdict: Rightness) -> int:
        """Say whether a past decision about a write was right; the verdicts give the error rate of this store.

        A verdict changes no memory. A new one about the same decision replaces it.

        Args:
            entry: Number of the journal entry that decided the write.
            verdict: `right`, `wrong` or `unsure`.

        Returns:
            The journal entry of the verdict; 0 when it stands already.

        Raises:
            InvalidField: The verdict is none of the three.
            NotFound: The entry does not exist, or is no decision about a write.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     made = store.remember("Tea is upstairs.")
            ...     store.judge(made.entry, "right"), store.judge(made.entry, "right")
            (2, 0)
        """
        from wellkept.engine.history import verdicts

        return verdicts.judge(self._ctx, {entry: verdicts.verdict_of(verdict)})
