"""Answers open questions with a chat model: where their texts go, what it costs, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import typer

from wellkept.cli.terminal import exits
from wellkept.cli.terminal.chat_model import PANEL, ChatOptions, DryRunOption, chat_model, require_permission, resumable
from wellkept.cli.terminal.groups import flag, option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.frozen import frozen
from wellkept.types.questions import BATCH
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.models.answering.chat import ChatAnswerer
    from wellkept.types import AnswersReport, Question


@frozen(kw_only=True)
class ModelOptions:
    """The model that answers, and how much it may cost."""

    with_url: str | None = option(
        "--with",
        metavar="URL",
        panel=PANEL,
        show_default=False,
        help="A chat endpoint that answers the open questions, such as http://127.0.0.1:8080/v1.",
    )
    chat: ChatOptions = ChatOptions()
    limit: int | None = option("--limit", metavar="N", min=1, panel=PANEL, help="Most questions; all by default.")
    again: bool = flag("--again", panel=PANEL, help="Ask also where an answer of this model was taken back.")
    dry_run: DryRunOption = False

    @property
    def is_wanted(self) -> bool:
        """Whether any of the options is given."""
        return self != ModelOptions()


def answer_with(run: Session, how: ModelOptions) -> int:
    """Let the model of the options answer the open questions; each answer is kept at once.

    Raises:
        ConfigError: The texts would leave this machine, and the settings do not allow it.
        ModelError: The endpoint cannot be reached, refuses, or sends something else; the answers before it stay.
    """
    from wellkept.engine.asking.answering_with import to_ask
    from wellkept.models.answering.chat import ChatAnswerer

    if not how.with_url:
        raise typer.BadParameter("Name the endpoint", param_hint="--with")
    model = chat_model(ChatAnswerer, run.settings, how.with_url, how.chat)
    store = run.store(writes=False)
    questions, _ = to_ask(store._ctx, model, limit=how.limit, again=how.again)
    if how.dry_run:
        said = [model.request(batch) for batch in _batches(questions)]
        run.show({"host": model.endpoint.host, "model": model.id, "requests": said}, lambda: said)
        return exits.OK
    require_permission(run.settings, model, count_of(len(questions), "question"))
    if not questions:
        run.note("There is no question to ask")
    else:
        _announce(run, model, questions, how.chat.tokens)
    with resumable(run), run.busy("Waiting for the model"):
        report = store.answer_with(model, limit=how.limit, again=how.again)
    if model.is_spent:
        run.note("The budget allows no further question; the same command goes on where this one ended")
    run.show(report, lambda: _lines(report))
    return exits.FINDINGS if report.left else exits.OK


def _announce(run: Session, model: ChatAnswerer, questions: Sequence[Question], budget: int | None) -> None:
    """Report which texts are sent to which host, before the first request."""
    batches = list(_batches(questions))
    texts = sum(1 + len(question.candidates) for question in questions)
    most = sum(map(model.estimate, batches))
    run.note(
        f"Sends {count_of(len(questions), 'question')} with {count_of(texts, 'text')} to {model.endpoint.host} "
        f"in {count_of(len(batches), 'request')}: at most about {most:,} tokens"
        + ("" if budget is None else f"; the budget is {budget:,}")
    )


def _batches(questions: Sequence[Question]) -> Iterator[Sequence[Question]]:
    left = iter(questions)
    while batch := tuple(islice(left, BATCH)):
        yield batch


def _lines(report: AnswersReport) -> Iterator[str]:
    for one in report.answered:
        undo = f"  (undo {one.entry})" if one.entry else ""
        yield f"{one.question}  {one.answer}{undo}  {one_line(one.memory.content, limit=80)}"
    for question, why in report.left.items():
        yield f"{question}  left open: {one_line(why, limit=200)}"
    yield str(report)
