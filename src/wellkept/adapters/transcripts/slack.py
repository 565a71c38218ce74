"""A Slack export, as a folder or as the archive: one folder for each channel, in it one file for each day."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

from wellkept.adapters.foreign_records import time_of
from wellkept.adapters.transcripts.archives import Files
from wellkept.adapters.transcripts.json_fields import name_of, text_at
from wellkept.adapters.transcripts.json_values import elements
from wellkept.core.transcripts.turns import Said, Turn
from wellkept.errors import InvalidInput

_DAY = re.compile(r"(?:^|/)([^/]{1,200})/\d{4}-\d{2}-\d{2}\.json$")
_USERS = re.compile(r"(?:^|/)users\.json$")
_REFERENCE = re.compile(r"<([@#!]?)([^<>|\n]{1,2000})(?:\|([^<>\n]{0,500}))?>")
_SPOKEN = frozenset({"", "thread_broadcast", "me_message", "file_share", "reply_broadcast"})
"""Subtypes of messages that people write; the others are joins, topics, bots and the like."""


def is_export(names: list[str]) -> bool:
    """Whether files are those of a Slack export."""
    return any(_DAY.search(name) for name in names)


def turns(files: Files) -> Iterator[Said]:
    """The messages of all channels, day by day.

    Raises:
        InvalidInput: A file is no JSON; names the file, the line and what to do.
    """
    names = files.names()
    people: dict[str, str] = {}
    for name in names:
        if _USERS.search(name):
            people |= _people(elements(files.read(name), files.where(name)))
    for name in names:
        day = _DAY.search(name)
        if day is None:
            continue
        for number, message in enumerate(elements(files.read(name), files.where(name)), start=1):
            if not isinstance(message, dict):
                what = f"message {number} is no JSON object"
                yield InvalidInput(what, where=files.where(name), todo="Export the channel again")
                continue
            turn = _turn(day.group(1), message, people)
            if turn is not None:
                yield turn


def _people(users: Iterator[Any]) -> dict[str, str]:
    found = {}
    for user in users:
        shown = text_at(user, "profile", "display_name") or text_at(user, "profile", "real_name")
        found[text_at(user, "id")] = name_of(shown or text_at(user, "real_name") or text_at(user, "name"), "somebody")
    return found


def _turn(channel: str, message: Mapping[str, Any], people: Mapping[str, str]) -> Turn | None:
    text = text_at(message, "text")
    is_spoken = text_at(message, "type") in ("message", "") and text_at(message, "subtype") in _SPOKEN
    if not text.strip() or not is_spoken or message.get("bot_id"):
        return None
    shown = text_at(message, "user_profile", "display_name") or text_at(message, "user_profile", "real_name")
    stamp = text_at(message, "ts")
    return Turn(
        conversation=name_of(channel, "channel"),
        place=name_of(stamp, ""),
        text=_plain(text, people),
        speaker=people.get(text_at(message, "user"), "") or name_of(shown, "Somebody"),
        at=time_of(_seconds(stamp)),
    )


def _plain(text: str, people: Mapping[str, str]) -> str:
    """A message with names in place of references."""

    def named(found: re.Match[str]) -> str:
        sort, target, shown = found.group(1), found.group(2), found.group(3)
        if sort == "@":
            return people.get(target, shown or "somebody")
        return f"#{shown or target}" if sort == "#" else shown or ("" if sort else target)

    return html.unescape(_REFERENCE.sub(named, text))


def _seconds(stamp: str) -> object:
    try:
        return float(stamp)
    except ValueError:
        return ""
