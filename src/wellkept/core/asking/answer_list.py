"""Reads several answers in one text: each names its question, `q17 replaces 1; q18 new`."""

from __future__ import annotations

import re

from wellkept.errors import InvalidAnswer

MOST = 100
"""Most answers in one text."""
_ID = re.compile(r"q[1-9][0-9]{0,17}")
_SHOWN = 60


def answers_in(text: str) -> tuple[tuple[str, str], ...]:
    """The questions of the text with their answers, in order. What the answers say is not looked at.

    Args:
        text: Answers separated by `;` or by line ends.

    Raises:
        InvalidAnswer: A part is not a question with an answer, or a question is named twice.

    Example:
        >>> answers_in("q17 replaces 1; Q18 repeats 1 and replaces 2;")
        (('q17', 'replaces 1'), ('q18', 'repeats 1 and replaces 2'))
    """
    found: dict[str, str] = {}
    for part in re.split(r"[;\n]", text):
        words = part.split(maxsplit=1)
        if not words:
            continue
        question = words[0].casefold()
        if _ID.fullmatch(question) is None:
            raise _wrong(part, f"{words[0][:20]!r} is no question")
        if len(words) == 1:
            raise _wrong(part, f"{question} has no answer")
        if question in found:
            raise _wrong(part, f"{question} is answered twice")
        if len(found) == MOST:
            raise _wrong(part, f"there are more than {MOST} answers")
        found[question] = words[1].rstrip()
    if not found:
        raise _wrong(text, "nothing is no answer")
    return tuple(found.items())


def _wrong(part: str, what: str) -> InvalidAnswer:
    return InvalidAnswer(
        what, where=repr(part.strip()[:_SHOWN]), todo="Write a question and its answer, as in 'q17 replaces 1; q18 new'"
    )
