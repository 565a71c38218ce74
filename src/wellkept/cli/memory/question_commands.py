"""Commands for questions about writes that the gate could not decide: questions, answer, forget-lessons."""

from __future__ import annotations

import sys
from typing import get_args

import typer

from wellkept.cli.memory.answer_with import ModelOptions, answer_with
from wellkept.cli.memory.key_answers import go_through
from wellkept.cli.terminal import exits
from wellkept.cli.terminal import questions as view
from wellkept.cli.terminal.fields import text_from
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.session import Session
from wellkept.core.asking.answer_list import answers_in
from wellkept.core.asking.question_text import list_for_agent
from wellkept.errors import WellkeptError
from wellkept.types import Answered, Answerer, AnswerVerb

AT_ONCE = 10
"""Most questions in one text for an agent."""


def verbs(incomplete: str) -> list[str]:
    """The first words of answers, for shell completion."""
    words = dict.fromkeys(verb.split()[0] for verb in get_args(AnswerVerb))
    return [word for word in words if word.startswith(incomplete)]


def questions(
    run: Session,
    *,
    limit: int = option("--limit", "-n", default=20, min=0, help="Maximum number of questions."),
    for_agent: bool = flag(
        "--for-agent", help=f"At most {AT_ONCE} as one text for an agent, for hooks; prints nothing if none is open."
    ),
) -> None:
    """Open questions about writes that could not be decided, most valuable first, and how to answer them."""
    run.quiet = run.quiet or for_agent
    store = run.store(writes=False, model=False)
    found = store.questions(limit=None)
    if not for_agent:
        first = found[:limit]
        run.show_each(first, lambda: view.listed(first, store.conflicts(), more=len(found) - len(first)))
        return
    first = found[: min(limit, AT_ONCE)]
    if first:
        how = f"Answer with: wellkept answer --by agent '{first[0].id} new' (several: separated by ';')"
        text = f"{list_for_agent(first)}\n{how}"
        run.show({"text": text}, lambda: [text])


def answer(
    run: Session,
    question: str | None = argument(
        default=None, metavar="QUESTION|-", show_default=False, help="Id of the question; - reads standard input."
    ),
    text: list[str] | None = argument(
        default=None, metavar="ANSWER...", show_default=False, autocompletion=verbs, help="The answer."
    ),
    *,
    by: Answerer = option(default="person", help="Who answers."),
    how: ModelOptions,
) -> int:
    """Answer a question: `answer q17 replaces 1`; several: 'q17 new; q18 repeats 2'. Alone, it asks for each.

    Answers: new, repeats N[,N], replaces [part of] N[,N], outdated by N, adds to N, keep both N, not worth keeping; two
    may be joined by `and`. Nothing is lost: `wellkept undo` takes an answer back.
    """
    if question is None:
        return answer_with(run, how) if how.is_wanted else _at_the_terminal(run, by)
    if how.is_wanted:
        raise typer.BadParameter("A model answers the open questions, so no question is named", param_hint="--with")
    said = text_from("-", None) if question == "-" else " ".join((question, *(text or ())))
    pairs = answers_in(said)
    store = run.store()
    if len(pairs) == 1:
        [(asked, words)] = pairs
        _told(run, store.answer(asked, words, by=by))
        return exits.OK
    code = exits.OK
    for asked, words in pairs:
        try:
            _told(run, store.answer(asked, words, by=by))
        except WellkeptError as error:
            code = exits.FINDINGS
            run.fail(error, about=asked)
    return code


def forget_lessons(run: Session) -> None:
    """Forget what answers have taught this store about its automatic acts; questions and answers stay."""
    run.store(model=False).forget_lessons()
    run.show({"forgotten": True}, lambda: ["Forgotten: the bounds of the relation model hold again"])


def _at_the_terminal(run: Session, by: Answerer) -> int:
    if run.json or not (sys.stdin.isatty() and run.out.is_terminal):
        raise typer.BadParameter(
            "No terminal to ask on: give a question and its answer, as in `wellkept answer q17 replaces 1`; "
            "`wellkept questions` lists them",
            param_hint="QUESTION",
        )
    go_through(run, run.store(), by, press=typer.getchar)
    return exits.OK


def _told(run: Session, done: Answered) -> None:
    run.show(done, lambda: view.done(done))
