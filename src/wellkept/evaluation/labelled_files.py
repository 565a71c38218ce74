"""Formats of labelled files: pairs with a relation, public sentence pairs with a label, and stories.

A line that cannot be used is an error with file and line; no line is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from wellkept.errors import InvalidInput
from wellkept.frozen import frozen
from wellkept.parsing import parsed_json

Gold: TypeAlias = Literal[
    "same", "refines", "conflict", "distinct", "unrelated", "related", "entailment", "neutral", "other"
]
Told: TypeAlias = Literal["same", "refines", "conflict", "distinct", "unrelated"]
Act: TypeAlias = Literal["first", "restates", "updates", "refines", "late", "noise"]

LABELS: Mapping[str, Gold] = {
    "duplicate": "same",
    "related": "related",
    "unrelated": "unrelated",
    "entailment": "entailment",
    "neutral": "neutral",
    "contradiction": "conflict",
}
"""Labels of public sets and their relation; other labels map to `other` and count only in merge metrics."""

_TRUTH = re.compile(r"(?P<again>restates|refines) (?P<of>\S+)|(?P<how>updates |late )?(?P<key>[^\s=]+)=(?P<value>.+)")
_Item = TypeVar("_Item")


@frozen(kw_only=True)
class Pair:
    """A stored text, a new text, and their relation.

    Attributes:
        gold: The labelled relation.
        label: The label of a public set; empty in our own format.
        place: File and line, for errors.
    """

    id: str
    old: str
    new: str
    gold: Gold
    label: str = ""
    subtype: str = ""
    lang: str = ""
    subject: str = ""
    place: str = ""


@frozen
class PairFile:
    """The pairs of one file, named without folders; `public` marks files of sentence pairs."""

    name: str
    public: bool
    pairs: tuple[Pair, ...]


@frozen(kw_only=True)
class Write:
    """One text of a story: its time, and its effect on the true values.

    Attributes:
        act: `first` states a value, `restates` repeats it, `updates` changes it, `refines` adds to it, `late` is an
            older value imported late, `noise` has no value.
        key: The attribute; empty for noise.
        value: The stated value; for `restates` and `refines` the current one.
    """

    at: datetime
    text: str
    kind: str
    subject: str = ""
    event_time: datetime | None = None
    act: Act = "first"
    key: str = ""
    value: str = ""


@frozen
class Query:
    """A query, a required substring of the answer, and substrings that are outdated."""

    text: str
    key: str
    answer: str
    stale: tuple[str, ...] = ()


@frozen(kw_only=True)
class Story:
    """A sequence of writes and queries for one store."""

    id: str
    lang: str
    writes: tuple[Write, ...]
    queries: tuple[Query, ...]
    place: str = ""


def read_pairs(name: str, lines: Iterable[bytes], *, limit: int | None = None) -> PairFile:
    """The pairs of a file.

    Args:
        name: File name; the report shows it without folders.
        lines: Its lines.
        limit: Most pairs, spread evenly over the file.

    Raises:
        InvalidInput: A line cannot be used, or there are none.

    Example:
        >>> line = b'{"id": "1", "a": "Tea at four.", "b": "Tea at five.", "label": "contradiction"}'
        >>> read_pairs("tea.jsonl", [line]).pairs[0].gold
        'conflict'
    """
    public: bool | None = None
    found = []
    for place, line in objects(name, lines):
        if "writes" in line:
            raise InvalidInput("this is a story", where=place, todo="Use `wellkept eval stories`")
        sort = "label" in line and "relation" not in line
        if public is not None and sort is not public:
            raise InvalidInput("one file holds both formats", where=place, todo="Give each format a file of its own")
        public = sort
        found.append(_labelled(line, place) if public else _related(line, place))
    if not found:
        raise InvalidInput("holds no pairs", where=name, todo='Write lines of {"id", "old", "new", "relation"}')
    return PairFile(PurePath(name).name, bool(public), tuple(spread(found, limit)))


def read_stories(name: str, lines: Iterable[bytes], *, limit: int | None = None) -> tuple[Story, ...]:
    """The stories of a file; arguments as in `read_pairs`.

    Raises:
        InvalidInput: A line cannot be used, or there are none.
    """
    found = []
    for place, line in objects(name, lines):
        if "relation" in line or "label" in line:
            raise InvalidInput("this is a pair", where=place, todo="Use `wellkept eval pairs`")
        found.append(_story(line, place))
    if not found:
        raise InvalidInput("holds no stories", where=name, todo='Write lines of {"id", "writes", "queries"}')
    return tuple(spread(found, limit))


def spread(items: Sequence[_Item], limit: int | None) -> Sequence[_Item]:
    """At most `limit` items, evenly spread, because the start of a sorted file is not representative.

    Example:
        >>> spread("abcdefgh", 4)
        ['a', 'c', 'e', 'g']
    """
    if limit is None or len(items) <= limit:
        return items
    return [items[number * len(items) // limit] for number in range(limit)]


# --------------------------------------------------------------------------------------------
# Lines


def objects(name: str, lines: Iterable[bytes]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a file with one a line, each with its place; blank lines are skipped."""
    for number, raw in enumerate(lines, 1):
        place = f"{name}, line {number}"
        if not raw.strip():
            continue
        line = parsed_json(raw, where=place, todo="Write one object a line")
        if not isinstance(line, dict):
            raise InvalidInput(f"is a JSON {type(line).__name__}", where=place, todo="Write one object a line")
        yield place, line


def _related(line: Mapping[str, Any], place: str) -> Pair:
    relation = _text(line, "relation", place)
    for known in get_args(Told):
        if relation == known:
            return Pair(
                id=_text(line, "id", place),
                old=_text(line, "old", place),
                new=_text(line, "new", place),
                gold=known,
                subtype=_text(line, "subtype", place, default=relation),
                lang=_text(line, "lang", place, default="en"),
                subject=_text(line, "subject", place, default=""),
                place=place,
            )
    allowed = ", ".join(get_args(Told))
    raise InvalidInput(f"{relation!r} is no relation", where=f"{place}, relation", todo=f"Use one of: {allowed}")


def _labelled(line: Mapping[str, Any], place: str) -> Pair:
    label = _text(line, "label", place)
    return Pair(
        id=_text(line, "id", place),
        old=_text(line, "a", place),
        new=_text(line, "b", place),
        gold=LABELS.get(label, "other"),
        label=label,
        place=place,
    )


def _story(line: Mapping[str, Any], place: str) -> Story:
    writes: list[Write] = []
    current: dict[str, str] = {}
    for number, item in enumerate(_list(line, "writes", place), 1):
        where = f"{place}, write {number}"
        write = _write(item, current, where)
        if writes and write.at < writes[-1].at:
            raise InvalidInput("is earlier than the write before it", where=f"{where}, t", todo="Put them in order")
        if write.act in ("first", "updates"):
            current[write.key] = write.value
        writes.append(write)
    queries = []
    for number, item in enumerate(_list(line, "queries", place), 1):
        where = f"{place}, query {number}"
        stale = item.get("must_not_rank_first") or []
        if not isinstance(stale, list) or not all(isinstance(piece, str) and piece for piece in stale):
            raise InvalidInput("is no list of texts", where=f"{where}, must_not_rank_first", todo="Write a list")
        queries.append(
            Query(
                _text(item, "q", where),
                _text(item, "key", where, default=""),
                _text(item, "answer_contains", where),
                tuple(stale),
            )
        )
    return Story(
        id=_text(line, "id", place),
        lang=_text(line, "lang", place, default="en"),
        writes=tuple(writes),
        queries=tuple(queries),
        place=place,
    )


def _write(item: Mapping[str, Any], current: Mapping[str, str], place: str) -> Write:
    event_time = _time(item, "event_time", place) if item.get("event_time") else None
    act, key, value = _truth(_text(item, "truth", place), current, place, late=event_time is not None)
    at = _time(item, "t", place)
    return Write(
        at=at,
        text=_text(item, "text", place),
        kind=_text(item, "kind", place, default="semantic"),
        subject=_text(item, "subject", place, default=""),
        event_time=event_time,
        act=act,
        key=key,
        value=value,
    )


def _truth(truth: str, current: Mapping[str, str], place: str, *, late: bool) -> tuple[Act, str, str]:
    where = f"{place}, truth"
    if truth == "noise":
        return "noise", "", ""
    match = _TRUTH.fullmatch(truth)
    if match is None:
        todo = "Write K1=value, restates K1, updates K1=value, late K1=value, refines K1 or noise"
        raise InvalidInput(f"{truth[:60]!r} cannot be read", where=where, todo=todo)
    key, value = match["of"] or match["key"], match["value"]
    if (match["again"] or match["how"]) and key not in current:
        raise InvalidInput(f"nothing was said of {key} before", where=where, todo=f"Write {key}=value first")
    if match["again"]:
        return ("restates" if match["again"] == "restates" else "refines"), key, current[key]
    if match["how"]:
        return ("updates" if match["how"] == "updates " else "late"), key, value
    if key in current and not late:
        todo = f"Write restates {key} or updates {key}=value, or give an event_time to a late import"
        raise InvalidInput(f"{key} has a value already", where=where, todo=todo)
    return ("late" if key in current else "first"), key, value


def _text(line: Mapping[str, Any], name: str, place: str, *, default: str | None = None) -> str:
    value = line.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or (not value.strip() and default is None):
        what = "a field is missing" if value is None else "a field is empty" if isinstance(value, str) else "no text"
        raise InvalidInput(what, where=f"{place}, {name}", todo=f"Give every line a text under {name!r}")
    return value


def _list(line: Mapping[str, Any], name: str, place: str) -> list[Mapping[str, Any]]:
    value = line.get(name)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InvalidInput("is no list of objects", where=f"{place}, {name}", todo=f"Give {name!r} a list of objects")
    return value


def _time(line: Mapping[str, Any], name: str, place: str) -> datetime:
    text = _text(line, name, place)
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        hint = "Use ISO 8601: 2026-03-04T09:30"
        raise InvalidInput(f"{text[:40]!r} is no time", where=f"{place}, {name}", todo=hint) from error
