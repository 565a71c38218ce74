"""Formats of retrieval sets: LoCoMo (turns, observations, questions) and BEAM (messages, questions).

Files are recognised by their fields, not by name. Conversations are kept separate. Malformed evidence of the published
questions is repaired where possible, and counted (docs/retrieval.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, get_args

from wellkept.errors import InvalidInput
from wellkept.evaluation.labelled_files import objects, spread
from wellkept.frozen import frozen

Format: TypeAlias = Literal["locomo", "beam"]
Unit: TypeAlias = Literal["turns", "observations", "messages", "user-messages"]
UNITS: tuple[Unit, ...] = get_args(Unit)

CATEGORIES: Mapping[int, str] = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
"""LoCoMo's category numbers, as in its own evaluation code."""
ADVERSARIAL = CATEGORIES[5]

_Sort: TypeAlias = Literal["turns", "observations", "messages", "questions"]
_DIA_ID = re.compile(r"D:?(?P<session>\d+):(?P<turn>\d+)")
_DATE = re.compile(r"(?P<clock>\d{1,2}:\d{2}\s*[ap]m) on (?P<day>\d{1,2} \w+),? (?P<year>\d{4})", re.IGNORECASE)


@frozen(kw_only=True)
class Document:
    """A text that is stored and searched.

    Attributes:
        conversation: Its conversation; searches do not cross conversations.
        sources: Ids of the turns or messages it contains; evidence refers to them.
        session: Its session.
        at: When it was said, if known.
    """

    conversation: str
    sources: tuple[str, ...]
    text: str
    session: str
    at: datetime | None = None
    place: str = ""


@frozen
class Question:
    """A question, its group, and the ids of its evidence."""

    id: str
    conversation: str
    text: str
    group: str
    evidence: tuple[str, ...]


@frozen(kw_only=True)
class Collection:
    """A retrieval set.

    Attributes:
        documents: Conversation to documents, in order.
        questions: Questions that can be scored.
        without_evidence: Number of questions without evidence, which are excluded.
        repaired: Number of questions with repaired evidence.
    """

    name: str
    format: Format
    unit: Unit
    documents: Mapping[str, tuple[Document, ...]]
    questions: tuple[Question, ...]
    without_evidence: int
    repaired: int


@frozen
class _Line:
    place: str
    fields: Mapping[str, Any]


def read_collection(
    name: str,
    files: Iterable[tuple[str, Iterable[bytes]]],
    *,
    unit: Unit | None = None,
    dates: bool = True,
    limit: int | None = None,
) -> Collection:
    """Read a retrieval set from the lines of its files.

    Args:
        name: Name of the set in the report.
        files: Name and lines of each file.
        unit: Unit of a document; by default `turns` of LoCoMo and `messages` of BEAM.
        dates: Whether a LoCoMo document starts with the date of its session.
        limit: Most questions, evenly spread; all documents are kept.

    Raises:
        InvalidInput: A line or file cannot be used, or data are missing.
    """
    lines: dict[_Sort, list[_Line]] = {sort: [] for sort in get_args(_Sort)}
    for file, content in files:
        sort, found = _of_file(file, content)
        lines[sort] += found
    form = _format(lines, name)
    wanted = unit or ("turns" if form == "locomo" else "messages")
    documents = _documents(form, wanted, lines, name, dates=dates)
    asked, repaired = _questions(form, lines)
    scorable = [question for question in asked if question.evidence and question.conversation in documents]
    if not scorable:
        raise InvalidInput("holds no question with evidence", where=name, todo="Give documents their questions")
    return Collection(
        name=name,
        format=form,
        unit=wanted,
        documents=documents,
        questions=tuple(spread(scorable, limit)),
        without_evidence=sum(not question.evidence for question in asked),
        repaired=repaired,
    )


# --------------------------------------------------------------------------------------------
# Files


def _of_file(name: str, content: Iterable[bytes]) -> tuple[_Sort, list[_Line]]:
    sort: _Sort | None = None
    found = []
    for place, line in objects(name, content):
        this = _sort(line, place)
        if sort is not None and this != sort:
            raise InvalidInput("one file holds two formats", where=place, todo="Give each format a file of its own")
        sort = this
        found.append(_Line(place, line))
    if sort is None:
        raise InvalidInput("holds no lines", where=name, todo="Leave it out")
    return sort, found


def _sort(line: Mapping[str, Any], place: str) -> _Sort:
    fields = line.keys()
    if {"question", "evidence"} <= fields:
        return "questions"
    if {"dia_ids", "text"} <= fields:
        return "observations"
    if {"dia_id", "speaker", "text"} <= fields:
        return "turns"
    if {"id", "role", "text"} <= fields:
        return "messages"
    todo = "Give lines of turns (dia_id, speaker, text), observations (dia_ids, text), messages (id, role, text) "
    raise InvalidInput("is of no known format", where=place, todo=todo + "or questions (question, evidence)")


def _format(lines: Mapping[_Sort, Sequence[_Line]], name: str) -> Format:
    locomo = bool(lines["turns"] or lines["observations"])
    if locomo and lines["messages"]:
        raise InvalidInput("holds two sets", where=name, todo="Measure one set at a time")
    if not lines["questions"]:
        raise InvalidInput("holds no questions", where=name, todo="Give documents and questions")
    if not locomo and not lines["messages"]:
        raise InvalidInput("holds no documents", where=name, todo="Give documents and questions")
    return "locomo" if locomo else "beam"


# --------------------------------------------------------------------------------------------
# Documents


def _documents(
    form: Format, unit: Unit, lines: Mapping[_Sort, Sequence[_Line]], name: str, *, dates: bool
) -> dict[str, tuple[Document, ...]]:
    match unit:
        case "turns" | "observations":
            told = {(_text(line, "conv"), str(line.fields.get("session"))): line for line in lines["turns"]}
            found = [_locomo(line, unit, told if dates else {}) for line in lines[unit]]
        case "messages":
            found = [_message(line) for line in lines["messages"]]
        case "user-messages":
            found = [_message(line) for line in lines["messages"] if line.fields["role"] == "user"]
    if not found:
        raise InvalidInput(f"holds no {unit}", where=name, todo=f"Choose other documents; this is of format {form}")
    grouped: dict[str, list[Document]] = {}
    for document in found:
        grouped.setdefault(document.conversation, []).append(document)
    return {key: tuple(documents) for key, documents in grouped.items()}


def _locomo(line: _Line, unit: Unit, told: Mapping[tuple[str, str], _Line]) -> Document:
    conversation, session = _text(line, "conv"), str(line.fields.get("session"))
    same = told.get((conversation, session))
    date = str(line.fields.get("date") or (same.fields.get("date") if same is not None else None) or "")
    text, ids = _text(line, "text"), line.fields.get("dia_ids")
    if unit == "turns":
        caption = line.fields.get("caption")
        text = f"{_text(line, 'speaker')}: {text}" + (f" [{caption}]" if caption else "")
        ids = [line.fields["dia_id"]]
    if not isinstance(ids, list) or not ids or not all(isinstance(one, str) and one for one in ids):
        raise InvalidInput("is no list of turn ids", where=f"{line.place}, dia_ids", todo="Name the turns it says")
    return Document(
        conversation=conversation,
        sources=tuple(dict.fromkeys(ids)),
        text=f"({date}) {text}" if date and told else text,
        session=session,
        at=_date(date),
        place=line.place,
    )


def _message(line: _Line) -> Document:
    return Document(
        conversation=_text(line, "conv"),
        sources=(str(line.fields["id"]),),
        text=_text(line, "text"),
        session=str(line.fields.get("session")),
        place=line.place,
    )


def _date(text: str) -> datetime | None:
    """LoCoMo's "1:56 pm on 8 May, 2023"; None for any other text."""
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return None
    written = f"{found['clock'].replace(' ', '')} {found['day']} {found['year']}"
    try:
        return datetime.strptime(written, "%I:%M%p %d %B %Y").replace(tzinfo=UTC)
    except ValueError:
        return None


# --------------------------------------------------------------------------------------------
# Questions


def _questions(form: Format, lines: Mapping[_Sort, Sequence[_Line]]) -> tuple[list[Question], int]:
    turns: dict[str, set[str]] = {}
    for line in lines["turns"]:
        turns.setdefault(_text(line, "conv"), set()).add(line.fields["dia_id"])
    found: list[Question] = []
    repaired: Counter[bool] = Counter()
    for line in lines["questions"]:
        conversation, named = _text(line, "conv"), line.fields["evidence"]
        if not isinstance(named, list):
            raise InvalidInput("is no list", where=f"{line.place}, evidence", todo="Give a list of ids")
        evidence = tuple(dict.fromkeys(map(str, named)))
        if form == "locomo":
            evidence = repaired_ids(evidence, turns.get(conversation))
        repaired[evidence != tuple(map(str, named))] += 1
        found.append(
            Question(
                id=str(line.fields.get("id", len(found))),
                conversation=conversation,
                text=_text(line, "question"),
                group=_group(line, form),
                evidence=evidence,
            )
        )
    return found, repaired[True]


def repaired_ids(named: Iterable[str], known: set[str] | None = None) -> tuple[str, ...]:
    """Normalise the evidence ids of a LoCoMo question.

    Args:
        named: As published: several in one text, "D:11:26" for "D11:26", "D30:05" for "D30:5", a bare "D".
        known: Existing turns; others are dropped. None if unknown.

    Example:
        >>> repaired_ids(["D8:6; D9:17", "D:11:26", "D", "D30:05", "D8:6"])
        ('D8:6', 'D9:17', 'D11:26', 'D30:5')
    """
    found = (f"D{int(one['session'])}:{int(one['turn'])}" for text in named for one in _DIA_ID.finditer(text))
    return tuple(one for one in dict.fromkeys(found) if known is None or one in known)


def _group(line: _Line, form: Format) -> str:
    if form == "beam":
        return _text(line, "type")
    category = line.fields.get("category")
    if isinstance(category, int) and category in CATEGORIES:
        return CATEGORIES[category]
    raise InvalidInput(f"{category!r} is no category", where=f"{line.place}, category", todo="Use 1 to 5")


def _text(line: _Line, name: str) -> str:
    value = line.fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput("is no text", where=f"{line.place}, {name}", todo=f"Give every line a text under {name!r}")
    return value
