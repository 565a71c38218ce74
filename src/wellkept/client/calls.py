"""Each verb as a call: its route, its parameters as JSON, and the reader of its answer.

The server validates the parameters; this module only serialises them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields as fields_of
from datetime import UTC, datetime
from typing import Any, TypeVar

from wellkept.client import from_json
from wellkept.client.exchange import Call, part
from wellkept.core.asking.state import MOST_OPEN
from wellkept.core.consolidation.plan_file import plan_from
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.records.codec import to_plain
from wellkept.errors import InvalidField
from wellkept.routes import ROUTES, Route
from wellkept.types import Answered, Filter, Json, NewMemory, Plan, Question, Scope

T = TypeVar("T")
REPEATABLE = frozenset(
    ("check", "remember_many", "recall", "pack", "subgraph", "end_episode", "erase", "link", "answer")
    + ("queue_flush", "plan", "execute")
)
"""Operations other than GET that are safe to send again: they write nothing, or repeating them changes nothing.

`revise` (a second version), `record_turn` (a second turn of the episode) and `undo`, for example, are not.
"""
KEYED = frozenset(("remember", "record_decision", "start_episode", "queue_remember"))
MAY_WAIT = frozenset(("remember", "remember_many", "record_decision", "record_turn"))
_SIMILAR = Route("POST", "/v1/nodes/check-similar")


def call(name: str, read: Callable[[Json], T], fields: Mapping[str, Any]) -> Call[T]:
    """Build the call of an operation.

    Args:
        name: Name of the operation.
        read: Converts the answer to the library's value.
        fields: The parameters: path parameters, and the rest as query or body.

    Raises:
        InvalidField: A parameter has no JSON form, or an id is invalid.
    """
    route = ROUTES[name]
    named = {key: fields[key] for key in route.parameters}
    if type(named.get("entry")) is int:  # ids are texts, entries of the journal numbers
        named["entry"] = str(named["entry"])
    path = route.path.format(**{key: part(value) for key, value in named.items()})
    others = {key: value for key, value in fields.items() if key not in route.parameters}
    queried = route.method in ("GET", "DELETE")
    return Call(
        method=route.method,
        path=path,
        query=_texts(others) if queried else {},
        body=None if queried else plain(others),
        read=read,
        repeatable=route.method == "GET" or name in REPEATABLE,
        keyed=name in KEYED,
        may_wait=name in MAY_WAIT,
    )


def similar(body: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """Build the call of `POST /v1/nodes/check-similar`, which is not an operation; errors stay HTTP errors."""
    body = plain(body)
    return Call(method=_SIMILAR.method, path=_SIMILAR.path, body=body, read=dict, repeatable=True, bare=True)


def asked(limit: int | None) -> Call[tuple[Question, ...]]:
    """Build the call of `questions`; a namespace has at most `MOST_OPEN` open ones."""
    most = MOST_OPEN if limit is None else limit
    return call("questions", lambda answer: from_json.page(Question)(answer)[0], {"limit": most})


def statement(content: str | NewMemory, fields: Mapping[str, Any]) -> dict[str, Json]:
    """A statement as JSON: the non-default fields of a `NewMemory`, overridden by the given fields."""
    changed = {name: plain(value) for name, value in fields.items() if name != "on_conflict" or value is not None}
    own = _differing(content) if isinstance(content, NewMemory) else {"content": plain(content)}
    return {**own, **changed}


def given_fields(**fields: Any) -> dict[str, Json]:
    """The given fields as JSON; a None value means not given and is omitted."""
    return {name: plain(value) for name, value in fields.items() if value is not None}


def plain(value: Any) -> Json:
    """Convert a parameter to JSON. A time without a zone is UTC, as in the library.

    Raises:
        InvalidField: The value has no JSON form.
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
    """The content of a record and its fields that differ from their defaults."""
    blank: Any = NewMemory(content="") if isinstance(record, NewMemory) else type(record)()
    values = {item.name: getattr(record, item.name) for item in fields_of(record)}
    return {name: plain(value) for name, value in values.items() if name == "content" or value != getattr(blank, name)}


def _name(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidField(f"{key!r} is not a name", where="key", todo="Use text")
    return key


def _texts(query: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters as texts: None is omitted, an object becomes JSON text."""
    present = {name: plain(value) for name, value in query.items() if value is not None}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in present.items()}


def figures(config: Consolidation) -> dict[str, Json]:
    """A configuration as JSON. Custom rules are not supported, because they cannot be converted back to TOML.

    Raises:
        InvalidField: The configuration has custom rules.
    """
    given = {item.name: getattr(config, item.name) for item in fields_of(config)}
    if given.pop("rules") != Consolidation().rules:
        raise InvalidField("local rules are not sent to a server", where="config", todo="Plan on the server")
    return given_fields(**given)


def plan_of(answer: Json) -> Plan:
    """Parse a plan as strictly as a plan file."""
    return plan_from(json.dumps(answer))


def entry_of(answer: Json) -> int:
    """The number of the journal entry that was written."""
    return int(answer["entry"])


def answered(answer: Json) -> Answered:
    """The result of the only answer."""
    return from_json.record(Answered)(answer["answered"][0])


def nothing(answer: Json) -> None:
    """The result of a verb that returns none."""


def number(answer: Json) -> int:
    """The only member of an answer, as a number."""
    return int(from_json.only(answer))


def truth(answer: Json) -> bool:
    """The only member of an answer, as a boolean."""
    return bool(from_json.only(answer))
