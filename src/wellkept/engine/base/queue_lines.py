"""The lines of a queue file: each records one event; together they give the queued writes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from wellkept.core.records.codec import DAMAGE
from wellkept.parsing import parsed_json
from wellkept.storage.ledger import unreadable, write_from
from wellkept.types.queue import QueuedWrite

log = logging.getLogger("wellkept")


def line_of(plain: Mapping[str, Any]) -> bytes:
    """An event as a line of the file."""
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def settled(held: dict[str, QueuedWrite], done: Iterable[str], failed: Mapping[str, str]) -> None:
    """Remove writes that are done, and record failures."""
    for one in done:
        held.pop(one, None)
    for one, error in failed.items():
        if one in held:
            held[one] = replace(held[one], attempts=held[one].attempts + 1, error=error)


def read(text: bytes) -> dict[str, QueuedWrite]:
    """The queued writes in these lines, by id. Unknown lines are skipped and reported in the log.

    Example:
        >>> read(b"") == read(b"no line of ours\\n") == {}
        True
    """
    held: dict[str, QueuedWrite] = {}
    for line in text.split(b"\n"):
        if not line.strip():
            continue
        try:
            plain = parsed_json(line)
            for word, value in plain.items():
                _ACTS.get(word, _nothing)(held, value, plain)
        except DAMAGE:
            log.warning("A line of the queue cannot be read and is passed over")
    return held


def _put(held: dict[str, QueuedWrite], value: Any, _: Mapping[str, Any]) -> None:
    try:
        one = write_from(value)
    except DAMAGE as error:
        named, namespace = value["id"], value["namespace"]
        if not (isinstance(named, str) and isinstance(namespace, str)):
            raise
        one = unreadable(value, error, named=named, namespace=namespace)
    held[one.id] = one


def _done(held: dict[str, QueuedWrite], value: Any, _: Mapping[str, Any]) -> None:
    settled(held, (str(value),), {})


def _failed(held: dict[str, QueuedWrite], value: Any, plain: Mapping[str, Any]) -> None:
    settled(held, (), {str(value): str(plain.get("error", ""))})


def _nothing(held: dict[str, QueuedWrite], value: Any, plain: Mapping[str, Any]) -> None:
    """Ignores an event of a later release, or the second half of a line."""


_ACTS: Mapping[str, Callable[[dict[str, QueuedWrite], Any, Mapping[str, Any]], None]] = {
    "put": _put,
    "done": _done,
    "failed": _failed,
}
