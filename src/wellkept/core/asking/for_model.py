"""Questions as data for a model: texts quoted and escaped, the answers as a JSON schema, and what the model said.

A text is untrusted. It stands in a JSON string, and `<` and `[` in it are escaped, so that it can neither end its
quotation nor hold the special tokens by which chat templates divide system, user and model. What the model says counts
only where it is a text under the id of a question of the same batch; `answer_text` then checks it like every answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wellkept.types import Memory, Question
from wellkept.types.showing import line

LONGEST_TEXT = 1_000
"""Maximum length of a quoted text, in characters; a longer one ends with an ellipsis."""


def as_data(questions: Sequence[Question]) -> str:
    """A batch of questions as one JSON object, whose only brackets are its own braces.

    Example:
        >>> from datetime import UTC, datetime
        >>> from wellkept.types import Chance, QuestionCandidate
        >>> day = datetime(2026, 3, 1, tzinfo=UTC)
        >>> old, new = (Memory(id=key, namespace="n", kind="fact", content=text, created_at=day, updated_at=day)
        ...             for key, text in (("a", "In Berlin."), ("b", "Now <here>")))
        >>> candidate = QuestionCandidate(1, old, Chance("a", 0.1, 0.4))
        >>> print(as_data([Question(id="q7", memory=new, worth=0.6, asked_at=day, candidates=(candidate,))]))
        {"q7": {"new": {"date": "2026-03-01", "kind": "fact", "text": "Now \\u003chere>"},
          "1": {"date": "2026-03-01", "kind": "fact", "text": "In Berlin."}}}
    """
    said = ",\n".join(
        f'"{one.id}": {{"new": {_note(one.memory)}'
        + "".join(f',\n  "{each.number}": {_note(each.memory)}' for each in one.candidates)
        + "}"
        for one in questions
    )
    return f"{{{said}}}"


def schema_of(questions: Sequence[Question]) -> dict[str, Any]:
    """The JSON schema of the answers to a batch: one text for each question, of the closed set of answers."""
    return {
        "type": "object",
        "properties": {
            one.id: {"type": "string", "pattern": pattern_of(each.number for each in one.candidates)}
            for one in questions
        },
        "required": [one.id for one in questions],
        "additionalProperties": False,
    }


def pattern_of(numbers: Iterable[int]) -> str:
    """A regular expression for the answers about these candidates; every answer in its standard form matches.

    Some impossible combinations match too, such as `repeats 1,1`: a grammar cannot tell them, and `answer_of` does.

    Example:
        >>> import re
        >>> [bool(re.match(pattern_of((1, 3)), text)) for text in ("replaces 3 and repeats 1", "repeats 2")]
        [True, False]
    """
    each = sorted(set(numbers))
    one = f"[{''.join(map(str, each))}]"
    more = f"(,{one}){{0,{len(each) - 1}}}" if len(each) > 1 else ""
    of_several = f"(repeats|replaces|replaces part of) {one}{more}"
    part = f"({of_several}|(outdated by|adds to|keep both) {one})"
    return f"^(new|not worth keeping|{part}( and {part})?)$"


def answers_in(content: str, asked: Iterable[str]) -> Mapping[str, str] | None:
    """The answers in what a model said: texts under ids that were asked; None if it holds no JSON object.

    Text around the object is skipped, because a model that no schema binds often explains itself. An id that the
    object holds twice has no answer.

    Example:
        >>> answers_in('Sure: {"q1": "new", "q2": 5, "q99": "new"}', ("q1", "q2"))
        {'q1': 'new'}
    """
    try:
        # What begins and ends with a brace is an object, or no JSON.
        said: list[tuple[str, Any]] = json.loads(
            content[content.find("{") : content.rfind("}") + 1], object_pairs_hook=list
        )
    except (ValueError, RecursionError):
        return None
    keys = [key for key, _ in said]
    once = {key for key in set(asked) if keys.count(key) == 1}
    return {key: value for key, value in said if key in once and isinstance(value, str)}


def _note(memory: Memory) -> str:
    note = {"date": f"{memory.created_at:%Y-%m-%d}", "kind": memory.kind, "text": line(memory.content, LONGEST_TEXT)}
    # Only the texts hold these signs: a note has no list.
    return json.dumps(note, ensure_ascii=False).replace("<", "\\u003c").replace("[", "\\u005b")
