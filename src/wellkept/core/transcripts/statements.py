"""The statements of a turn: its sentences, without what states nothing.

Questions, greetings, acknowledgements, fragments, code and quotations are left out, each with its reason. The head on
chatter may still refuse what is left. A statement keeps its speaker in front of it and its pronouns as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from wellkept.core.reading.chat_turns import greets, questions, speaker
from wellkept.core.text.forms import is_junk
from wellkept.core.text.redaction import without_secrets
from wellkept.core.text.sentences import sentences
from wellkept.core.transcripts.turns import Turn
from wellkept.frozen import frozen

Why: TypeAlias = Literal[
    "question", "greeting", "filler", "fragment", "secret", "too long", "too many", "working step", "chatter"
]
"""Why a sentence is not kept. `too many` have been said before in the same turn; a `working step` is what an agent says
before it goes on working, `chatter` the opinion of the head."""
LONGEST = 1_000
"""Characters of the longest statement; what is longer without the end of a sentence is data, not speech."""
_MOST_SENTENCES = 2_000
"""Sentences of a turn that are read."""
_LEAST_WORDS = 4
_LEAST_WIDE = 6
"""Characters of the shortest statement in a script without spaces."""
_WIDE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_FENCE = re.compile(r"^[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
"""A line that begins or ends a block of code; code between backticks within a line does neither."""
_NO_SPEECH = re.compile(r"^[ \t]*(?:>|\||#{1,6}[ \t]|-{3,}|={3,}|\[\^?\d+\]:)")
"""The start of a line that quotes, or is a row of a table, a heading, a rule, or a reference."""
_ITEM = re.compile(r"^[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_STRESSED = re.compile(r"(?<!\w)(\*{1,3})(?=\S)([^*\n]{1,200})(?<=\S)\1(?!\w)")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^()\s]{1,500}\)")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")


@frozen
class Statement:
    """A sentence of a turn.

    Attributes:
        turn: The turn.
        text: The sentence, without the speaker.
        why: Why it is not kept; None while nothing speaks against it.
    """

    turn: Turn
    text: str
    why: Why | None = None

    @property
    def content(self) -> str:
        """The text to store: the sentence, after its speaker if there is one."""
        said = self.turn.speaker
        return f"{said}: {self.text}" if said and not speaker(self.text) else self.text


def statements(turn: Turn, *, is_step: bool = False) -> Iterator[Statement]:
    """The sentences of a turn, each kept or with the reason why it is not.

    Args:
        turn: The turn.
        is_step: Whether the speaker goes on working after it, so that it reports a step and no result.

    Example:
        >>> turn = Turn(conversation="c", place="1", speaker="Ana", text="Hi Ben! I moved to Graz in May. And you?")
        >>> [(one.content, one.why) for one in statements(turn)]
        [('Ana: Hi Ben!', 'greeting'), ('Ana: I moved to Graz in May.', None), ('Ana: And you?', 'question')]
    """
    spoken = [part for line in _speech(turn.text) for part in sentences(line)]
    for number, text in enumerate(spoken):
        why: Why | None = "too many" if number >= _MOST_SENTENCES else "working step" if is_step else _why_not(text)
        yield Statement(turn, text, why)


def all_statements(turns: Iterable[Turn]) -> Iterator[Statement]:
    """The sentences of all turns, in their order. Of an agent's turns in a row, only the last one tells a result."""
    before: Turn | None = None
    for turn in turns:
        if before is not None:
            yield from statements(before, is_step=_works_on(before, turn))
        before = turn
    if before is not None:
        yield from statements(before)


def _works_on(turn: Turn, following: Turn) -> bool:
    return turn.role == following.role == "agent" and turn.conversation == following.conversation


def _why_not(text: str) -> Why | None:
    if len(text) > LONGEST:
        return "too long"
    if is_junk(text) is not None:
        return "filler"
    if questions(text):
        return "question"
    if without_secrets(text) != text:
        return "secret"
    if _is_fragment(text):
        return "greeting" if greets(text) else "fragment"
    return "greeting" if greets(text) and len(text.split()) <= 2 * _LEAST_WORDS else None


def _is_fragment(text: str) -> bool:
    """Whether a text is too short to state something, or introduces what follows it."""
    plain = _ADDRESS.sub(" ", text)
    if text.endswith((":", "\uff1a")):
        return True
    wide = len(_WIDE.findall(plain))
    words = [word for word in plain.split() if any(sign.isalnum() for sign in word)]
    return wide < _LEAST_WIDE if wide else len(words) < _LEAST_WORDS


def _speech(text: str) -> Iterator[str]:
    """The lines that are speech: without code, quotations and markup."""
    fence = ""
    for line in text.splitlines():
        marks = _FENCE.match(line)
        if fence:
            fence = "" if marks and marks.group(1).startswith(fence) else fence
        elif marks:
            fence = marks.group(1)
        elif not _NO_SPEECH.match(line):
            yield _STRESSED.sub(r"\2", _LINK.sub(r"\1", _ITEM.sub("", line, count=1)))
