"""Facts that a model extracts from turns: what it is shown, the schema of its answer, and what of the answer counts.

A turn is untrusted. It stands in a JSON string in which `<` and `[` are escaped, as in questions for a model. A fact
counts only if it names lines that the model was shown and shares a word with them; nothing else has an effect.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, TypeAlias

from wellkept.core.lexicon import in_all_languages
from wellkept.core.text.forms import fold, search_terms
from wellkept.core.text.redaction import without_secrets
from wellkept.core.text.sentences import sentences
from wellkept.core.transcripts.turns import Turn
from wellkept.frozen import frozen
from wellkept.types.showing import line

Fault: TypeAlias = Literal["no text", "no such line", "not from its lines", "twice"]
LONGEST_FACT = 500
MOST_FACTS = 60
"""Facts of one answer."""
_MOST_LINES = 12
_CHARACTERS = 6_000
"""Characters of the turns in one request."""
_LONGEST_LINE = 1_500


@frozen
class Fact:
    """A fact and the turns that tell it."""

    text: str
    turns: tuple[Turn, ...]


@frozen
class Passage:
    """Turns of one conversation that are sent in one request, each with the text of one line."""

    lines: tuple[tuple[Turn, str], ...]


@frozen
class Extracted:
    """What counts of an answer.

    Attributes:
        facts: The facts.
        faults: How many others there were, by what is wrong with them.
    """

    facts: tuple[Fact, ...] = ()
    faults: Mapping[str, int] = field(default_factory=dict)


def passages(turns: Sequence[Turn]) -> Iterator[Passage]:
    """The turns in passages for one request each; none holds turns of two conversations."""
    lines: list[tuple[Turn, str]] = []
    size = 0
    for turn in turns:
        for text in _lines(turn.text):
            if lines and (size + len(text) > _CHARACTERS or lines[-1][0].conversation != turn.conversation):
                yield Passage(tuple(lines))
                lines, size = [], 0
            lines.append((turn, text))
            size += len(text)
    if lines:
        yield Passage(tuple(lines))


def as_data(passage: Passage) -> str:
    """A passage as one JSON object: its lines by number.

    Example:
        >>> turn = Turn(conversation="c", place="1", speaker="Ana", text="In <Graz>.", at="2026-05-01T10:00:00+00:00")
        >>> print(as_data(Passage(((turn, turn.text),))))
        {"1": {"date": "2026-05-01", "speaker": "Ana", "text": "In \\u003cGraz>."}}
    """
    said = ",\n".join(
        f'"{number}": {_escaped({"date": turn.at[:10], "speaker": turn.speaker, "text": text})}'
        for number, (turn, text) in enumerate(passage.lines, start=1)
    )
    return f"{{{said}}}"


def schema() -> dict[str, Any]:
    """The JSON schema of an answer."""
    fact = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "lines": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["text", "lines"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"facts": {"type": "array", "items": fact}},
        "required": ["facts"],
        "additionalProperties": False,
    }


def facts_in(content: str, passage: Passage) -> Extracted | None:
    """The facts in what a model said; None if it holds no JSON object with facts.

    Example:
        >>> turn = Turn(conversation="c", place="1", speaker="Ana", text="I moved to Graz.")
        >>> said = '{"facts": [{"text": "Ana moved to Graz.", "lines": [1]}, {"text": "Ben sleeps.", "lines": [7]}]}'
        >>> found = facts_in(said, Passage(((turn, turn.text),)))
        >>> [fact.text for fact in found.facts], found.faults
        (['Ana moved to Graz.'], {'no such line': 1})
    """
    try:
        said = json.loads(content[content.find("{") : content.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
    listed = said.get("facts") if isinstance(said, dict) else None
    if not isinstance(listed, list):
        return None
    kept: dict[str, Fact] = {}
    faults: Counter[str] = Counter()
    for one in listed[:MOST_FACTS]:
        found = _fact(one, passage)
        if not isinstance(found, Fact):
            faults[found] += 1
        elif kept.setdefault(found.text, found) is not found:
            faults["twice"] += 1
    return Extracted(tuple(kept.values()), dict(faults))


def _fact(value: object, passage: Passage) -> Fact | Fault:
    text = value.get("text") if isinstance(value, dict) else None
    numbers = value.get("lines") if isinstance(value, dict) else None
    if not isinstance(text, str) or not any(sign.isalnum() for sign in text) or len(text) > LONGEST_FACT:
        return "no text"
    if not isinstance(numbers, list) or not numbers or not all(type(one) is int for one in numbers):
        return "no such line"
    if not all(1 <= one <= len(passage.lines) for one in numbers):
        return "no such line"
    told = [passage.lines[one - 1] for one in dict.fromkeys(numbers[:_MOST_LINES])]
    if not _is_from(text, told):
        return "not from its lines"
    return Fact(" ".join(text.split()), tuple(dict.fromkeys(turn for turn, _ in told)))


def _is_from(text: str, told: Sequence[tuple[Turn, str]]) -> bool:
    """Whether a fact shares a word that is no small word with its lines; in another script nothing can be said."""
    own = _terms(text)
    theirs = frozenset().union(*(_terms(said) for _, said in told))
    return not own or not theirs or not own.isdisjoint(theirs) or text.isascii() != all(t.isascii() for _, t in told)


def _terms(text: str) -> frozenset[str]:
    return frozenset(search_terms(text)) - in_all_languages("function")


def _lines(text: str) -> Iterator[str]:
    """A turn as one line without secrets, a very long one as several, at the ends of sentences where there are any."""
    plain = without_secrets(" ".join(fold(text).split()))
    if len(plain) <= _LONGEST_LINE:
        if plain:
            yield plain
        return
    part = ""
    for sentence in sentences(plain):
        for start in range(0, len(sentence), _LONGEST_LINE):
            piece = sentence[start : start + _LONGEST_LINE]
            if part and len(part) + len(piece) >= _LONGEST_LINE:
                yield part
                part = ""
            part = f"{part} {piece}".lstrip()
    if part:
        yield part


def _escaped(note: Mapping[str, str]) -> str:
    plain = {key: line(value, _LONGEST_LINE) for key, value in note.items() if value}
    return json.dumps(plain, ensure_ascii=False).replace("<", "\\u003c").replace("[", "\\u005b")
