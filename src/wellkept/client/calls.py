"""Each verb as a call: its route, its parameters as JSON, and how its answer is read.

What a parameter may be is decided by the server; here stands only how it travels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields as fields_of
from datetime import UTC, datetime
from typing import Any, TypeVar

from wellkept.client import from_json
from wellkept.client.exchange import Call, part
from wellkept.core.consolidation.plan_file import plan_from
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.records.codec import to_plain
from wellkept.errors import InvalidField
from wellkept.routes import ROUTES, Route
from wellkept.types import Filter, Json, NewMemory, Plan, Scope

T = TypeVar("T")
_REPEATABLE = frozenset(
    ("check", "remember_many", "recall", "pack", "subgraph", "end_episode", "erase", "link")
    + ("queue_flush", "plan", "execute")
)
"""What no GET does and yet may be sent again: it writes nothing, or a second time it changes nothing and says the same.

Not so `revise` (a second version), `record_turn` (a second turn of the episode), `undo` and their like.
"""
_KEYED = frozenset(("remember", "record_decision", "start_episode", "queue_remember"))
_MAY_WAIT = frozenset(("remember", "remember_many", "record_decision", "record_turn"))
_SIMILAR = Route("POST", "/v1/nodes/check-similar")


def call(name: str, read: Callable[[Json], T], fields: Mapping[str, Any]) -> Call[T]:
    """The call of an operation.

    Args:
        name: Of the operation.
        read: Makes the library's value of the answer.
        fields: Its parameters: those that the path names, and the others as its query or body.

    Raises:
        InvalidField: One of them has no JSON form, or is no id.
    """
    route = ROUTES[name]
    path = route.path.format(**{key: part(fields[key]) for key in route.parameters})
    others = {key: value for key, value in fields.items() if key not in route.parameters}
    queried = route.method in ("GET", "DELETE")
    return Call(
        method=route.method,
        path=path,
        query=_texts(others) if queried else {},
        body=None if queried else plain(others),
        read=read,
        repeatable=route.method == "GET" or name in _REPEATABLE,
        keyed=name in _KEYED,
        may_wait=name in _MAY_WAIT,
    )


def similar(body: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """`POST /v1/nodes/check-similar`, which is no operation; what it refuses is told as it stands."""
    body = plain(body)
    return Call(method=_SIMILAR.method, path=_SIMILAR.path, body=body, read=dict, repeatable=True, bare=True)


def statement(content: str | NewMemory, fields: Mapping[str, Any]) -> dict[str, Json]:
    """A statement as JSON; of a `NewMemory` what differs from its defaults, and what is said beside it wins."""
    beside = {name: plain(value) for name, value in fields.items() if name != "on_conflict" or value is not None}
    own = _differing(content) if isinstance(content, NewMemory) else {"content": plain(content)}
    return {**own, **beside}


def said(**fields: Any) -> dict[str, Json]:
    """What a caller said, as JSON; None is what is not said."""
    return {name: plain(value) for name, value in fields.items() if value is not None}


def plain(value: Any) -> Json:
    """A parameter as JSON. A time without a zone is UTC, as in the library.

    Raises:
        InvalidField: It has no JSON form.
    """
    match value:
        case datetime():
            return to_plain(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
        case Mapping():
            return {_name(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted(plain(item) for item in value)
        case NewMemory() | Filter() | Scope():
            return _differing(value)
        case _:
            return to_plain(value)


def _differing(record: NewMemory | Filter | Scope) -> dict[str, Json]:
    """The fields of a record that do not hold their default, and its content."""
    blank: Any = NewMemory(content="") if isinstance(record, NewMemory) else type(record)()
    values = {item.name: getattr(record, item.name) for item in fields_of(record)}
    return {name: plain(value) for name, value in values.items() if name == "content" or value != getattr(blank, name)}


def _name(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidField(f"{key!r} is not a name", where="key", todo="Use text")
    return key


def _texts(query: Mapping[str, Any]) -> dict[str, str]:
    """A query: what is not said is left out, an object is JSON text."""
    told = {name: plain(value) for name, value in query.items() if value is not None}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in told.items()}


def figures(config: Consolidation) -> dict[str, Json]:
    """A configuration without rules of its own, which have no way back to TOML.

    Raises:
        InvalidField: It has such rules.
    """
    given = {item.name: getattr(config, item.name) for item in fields_of(config)}
    if given.pop("rules") != Consolidation().rules:
        raise InvalidField("local rules are not sent to a server", where="config", todo="Plan on the server")
    return said(**given)


def plan_of(answer: Json) -> Plan:
    """A plan file, read as strictly as one from a disk."""
    return plan_from(json.dumps(answer))


def entry_of(answer: Json) -> int:
    """The number of the entry that was written."""
    return int(answer["entry"])


def number(answer: Json) -> int:
    """The only member of an answer, as a number."""
    return int(from_json.only(answer))


def truth(answer: Json) -> bool:
    """The only member of an answer, as yes or no."""
    return bool(from_json.only(answer))
