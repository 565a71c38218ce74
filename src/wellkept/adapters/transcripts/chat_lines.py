"""Plain chat lines: `Name: text`, with or without a date or time in front; other lines continue the turn before them.

A name behind a date without a time may be a label ("2026-05-01 Release: …"): it speaks if it stands on two lines of the
file, or if its language shows that it does.

A time is read in ISO order and as messengers write it. Where a file does not show whether the day or the month stands
first, its dates are left out: a wrong date is worse than none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from wellkept.adapters.transcripts.archives import Files, lines_of
from wellkept.adapters.transcripts.json_fields import name_of
from wellkept.core.reading.chat_turns import speaker
from wellkept.core.text.forms import decode
from wellkept.core.transcripts.turns import Said, Turn
from wellkept.engine.base.numbered_lines import LONGEST, numbered
from wellkept.errors import InvalidInput, InvalidText

Order: TypeAlias = Literal["day", "month", ""]
_STAMP = re.compile(
    r"[\u200e\u200f\ufeff]*\[?(?P<date>\d{1,4}[-./]\d{1,2}[-./]\d{1,4})"
    r"(?:[,T \u202f]{1,2}(?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d{1,9})?[ \u202f]?(?P<half>[AaPp]\.?[Mm]\.?)?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?|(?=[],:\uff1a\s]))\]?[,:\uff1a]?\s{0,3}(?:[-\u2013]\s{1,3})?"
)
_NAME = re.compile(r"\s{0,3}(?P<name>[^\W\d_][^:\uff1a\n]{0,59})(?::\s+|\uff1a\s*)(?=\S)")
_YEAR = re.compile(r"\d{4}")
_MOST_PEEKED = 200
_MOST_WORDS = 4


@dataclass(slots=True)
class _Line:
    """A line that begins a turn, and the lines that continue it."""

    number: int
    speaker: str
    stamp: re.Match[str] | None
    texts: list[str]
    label: str = ""
    """What stands before the text, if it may be no name."""


def is_chat(data: bytes) -> bool:
    """Whether the first lines of a file are a chat: several of them name who speaks."""
    spoken = read = 0
    for _, raw in numbered(lines_of(data), ""):
        read += 1
        spoken += bool(_said(raw[:1_000].decode("utf-8", "replace"))[1])
        if read >= _MOST_PEEKED:
            break
    return spoken >= 2 and spoken * 4 >= read


def turns(files: Files) -> Iterator[Said]:
    """The turns of chat files; lines that cannot be read as errors."""
    for name in files.names():
        begun: list[_Line] = []
        for number, raw in numbered(lines_of(files.read(name)), files.where(name)):
            place = f"{files.where(name)}, line {number}"
            if len(raw) > LONGEST:
                yield InvalidInput(f"is longer than {LONGEST >> 20} MiB", where=place, todo="Divide the line")
                continue
            try:
                text = decode(raw).strip("\r\n")
            except InvalidText as error:
                yield InvalidText(error.what, where=place, todo=error.todo)
                continue
            _take(begun, number, text)
        order = _order(begun)
        named = Counter(line.speaker for line in begun)
        for line in begun:
            if line.label and named[line.speaker] == 1:
                line.speaker, line.texts[0] = "", line.label + line.texts[0]
            yield Turn(
                conversation=name_of(name, "chat"),
                place=str(line.number),
                text="\n".join(line.texts),
                speaker=line.speaker,
                at=_moment(line.stamp, order) if line.stamp else "",
            )


def _take(begun: list[_Line], number: int, text: str) -> None:
    stamp, found = _said(text)
    if found:
        name, said = found
        is_sure = stamp is None or stamp.group("time") or speaker(f"{name}: {said}")
        label = "" if stamp is None or is_sure else text[stamp.end() :].removesuffix(said).lstrip()
        begun.append(_Line(number, name, stamp, [said], label))
    elif begun and stamp is None:
        begun[-1].texts.append(text)
    elif stamp is None:
        begun.append(_Line(number, "", None, [text]))
    # A line with a time and without a name is a notice of the messenger.


def _said(text: str) -> tuple[re.Match[str] | None, tuple[str, str] | None]:
    """When a line was said, by whom, and what; a date alone counts only with all of its year and in front of a name."""
    stamp = _STAMP.match(text)
    if stamp and not stamp.group("time") and not _YEAR.search(stamp.group("date")):
        stamp = None
    found = _name(text[stamp.end() :] if stamp else text, is_stamped=stamp is not None)
    if stamp and not found and not stamp.group("time"):
        return None, None
    return stamp, found


def _name(text: str, *, is_stamped: bool) -> tuple[str, str] | None:
    """Who speaks, and what."""
    found = _NAME.match(text)
    if found is None or len(found.group("name").split()) > _MOST_WORDS:
        return None
    if not is_stamped and not speaker(text):
        return None
    return name_of(found.group("name"), "Somebody"), text[found.end() :]


def _order(lines: list[_Line]) -> Order:
    """What stands first in dates with the year at their end; empty where the file does not show it."""
    first = second = 0
    for line in lines:
        parts = re.split(r"[-./]", line.stamp.group("date")) if line.stamp else []
        if parts and len(parts[0]) <= 2:
            first, second = max(first, int(parts[0])), max(second, int(parts[1]))
            if "." in line.stamp.group("date") if line.stamp else False:
                return "day"
    if (first > 12) == (second > 12):
        return ""
    return "day" if first > 12 else "month"


def _moment(stamp: re.Match[str], order: Order) -> str:
    one, two, three = (int(part) for part in re.split(r"[-./]", stamp.group("date")))
    if len(re.split(r"[-./]", stamp.group("date"))[0]) == 4:
        year, month, day = one, two, three
    elif order:
        year, month, day = three + (2000 if three < 100 else 0), two, one
        month, day = (month, day) if order == "day" else (day, month)
    else:
        return ""
    hour, minute, second, *_ = (int(part) for part in f"{stamp.group('time') or '0:0'}:0".split(":"))
    half = (stamp.group("half") or "").lower()[:1]
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    zone = (stamp.group("zone") or "").replace("Z", "+00:00")
    try:
        shown = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone or '+00:00'}"
        return datetime.fromisoformat(shown).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return ""
