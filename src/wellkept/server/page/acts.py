"""What the buttons of the page do: each is one operation, with the journal entry that takes it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from starlette.responses import Response

from wellkept.errors import InvalidField, NotFound
from wellkept.server.page.frame import Visit

Act: TypeAlias = Callable[[Visit], int]
"""Does what a form asks; returns the journal entry, 0 for none."""
_LOOKED_AT = 50
CONFIRMATION = "erase"


def do(visit: Visit) -> Response:
    """Do one act, and return to the page that its form was on."""
    name = str(visit.request.path_params["act"])
    act = _ACTS.get(name)
    if act is None:
        raise NotFound("there is no such act", where=name[:40], todo="Load the page again")
    return visit.back(act(visit))


def entry_of(visit: Visit, verb: str, fits: Callable[[Any], bool]) -> int:
    """The number of the newest entry of a verb that fits; 0 when later writes have pushed it out of sight."""
    newest = visit.run("journal", newest=_LOOKED_AT).entries
    return next((one.seq for one in reversed(newest) if one.verb == verb and fits(one)), 0)


def resolved(visit: Visit, key: str, resolution: str) -> int:
    """Settle a conflict; returns its entry."""
    visit.run("resolve", key=key, resolution=resolution)
    return entry_of(visit, "resolve", lambda one: any(_settles(effect, key) for effect in one.effects))


def _settles(effect: Any, key: str) -> bool:
    return effect.type == "conflict" and effect.after is not None and effect.after.key == key


def _resolve(visit: Visit) -> int:
    return resolved(visit, visit.sent("key"), visit.sent("resolution"))


def _answer(visit: Visit) -> int:
    made = visit.run("answer", question=visit.sent("question"), text=visit.sent("text"), by="person")
    return int(made.answered[0].entry)


def _undo(visit: Visit) -> int:
    return int(visit.run("undo", entry=_whole(visit.sent("entry"))).entry)


def _forget(visit: Visit) -> int:
    return int(visit.run("forget", memory_id=visit.sent("memory_id")).entry)


def _split(visit: Visit) -> int:
    return int(visit.run("split", memory_id=visit.sent("memory_id")).entry)


def _restore(visit: Visit) -> int:
    memory_id = visit.sent("memory_id")
    visit.run("restore", memory_id=memory_id)
    return entry_of(visit, "restore", lambda one: one.memory_id == memory_id)


def _erase(visit: Visit) -> int:
    if visit.sent("confirmation").casefold() != CONFIRMATION:
        todo = f"Go back and type the word {CONFIRMATION}; nothing was erased"
        raise InvalidField("the confirmation is missing", where="confirmation", todo=todo)
    visit.run("erase", memory_id=visit.sent("memory_id"))
    return 0


def _agree(visit: Visit) -> int:
    """Say that a text was rightly not stored."""
    visit.run("judge", entry=_whole(visit.sent("entry")), verdict="right")
    return 0


def _drop(visit: Visit) -> int:
    """Remove a failed write from the queue."""
    visit.run("queue_drop", queued_id=visit.sent("queued_id"))
    return 0


def _retry(visit: Visit) -> int:
    """Store the queued writes, also those that failed before."""
    visit.run("queue_flush", again=True)
    return 0


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 18):
        raise InvalidField(f"{text[:40]!r} is no number of an entry", where="entry", todo="Load the page again")
    return int(text)


_ACTS: Mapping[str, Act] = {
    "resolve": _resolve,
    "answer": _answer,
    "undo": _undo,
    "forget": _forget,
    "split": _split,
    "restore": _restore,
    "erase": _erase,
    "agree": _agree,
    "drop": _drop,
    "retry": _retry,
}
