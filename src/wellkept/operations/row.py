"""What an operation is: one row that REST, MCP and `wellkept call` are made from, and all else is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel

from wellkept.operations.handlers import verb
from wellkept.routes import ROUTES, Route

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

Effect: TypeAlias = Literal["read", "write", "destructive"]
"""`write` can be taken back by `undo` or `restore`; `destructive` cannot."""
Scope: TypeAlias = Literal["read", "write", "admin"]
"""What a token must allow."""
Toolset: TypeAlias = Literal["default", "full", "none"]
"""Whether an agent has it as a tool: always, on request, or never."""


def ok(result: BaseModel) -> int:
    """The HTTP status of most results."""
    return 200


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked of a store, the same on every surface.

    Attributes:
        name: The verb of the library.
        title: For people, a few words.
        description: For agents and for readers of the OpenAPI document.
        input: Its fields have the names and defaults of the library's parameters.
        output: The JSON shape of the result; what the command line prints under `--json`.
        effect: What it does to the store. Counting a memory as used is no write.
        idempotent: Whether the same call again changes nothing more.
        scope: What a token must allow.
        handler: From a store and an input to an output; raises `WellkeptError`. By default the library's verb.
        toolset: Whether it is an agent's tool; by default on request.
        route: Where it is found over HTTP; None for nowhere.
        status: The HTTP status of a result.
    """

    name: str
    title: str
    description: str
    input: type[BaseModel]
    output: type[BaseModel]
    effect: Effect
    idempotent: bool
    scope: Scope
    handler: Callable[[MemoryStore, Any], BaseModel]
    toolset: Toolset
    route: Route | None
    status: Callable[[BaseModel], int] = ok


def created_or_known(result: BaseModel) -> int:
    """201 where a memory was made, 202 where it waits, 200 where the store had it or refuses it."""
    match getattr(result, "outcome", ""):
        case "created" | "superseded":
            return 201
        case "queued":
            return 202
        case _:
            return 200


def reads(*columns: Any, **more: Any) -> Operation:
    """A row that writes nothing: name, title, description, input and output, then what differs from the defaults."""
    return _row("read", columns, more)


def writes(*columns: Any, **more: Any) -> Operation:
    """A row whose change of the store can be undone; by default a repeated call changes nothing more."""
    return _row("write", columns, more)


def _row(effect: Literal["read", "write"], columns: tuple[Any, ...], more: Mapping[str, Any]) -> Operation:
    name, output = columns[0], columns[-1]
    usual = {"effect": effect, "idempotent": True, "scope": effect, "toolset": "full", "route": ROUTES.get(name)}
    return Operation(*columns, **{**usual, "handler": verb(name, output), **more})
