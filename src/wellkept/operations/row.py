"""Operation: one row of the table from which REST, MCP and `wellkept call` are generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel

from wellkept.frozen import frozen
from wellkept.operations.handlers import verb
from wellkept.routes import ROUTES, Route

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

Effect: TypeAlias = Literal["read", "write", "destructive"]
"""`write` can be reverted by `undo` or `restore`; `destructive` cannot."""
Scope: TypeAlias = Literal["read", "write", "admin"]
"""The scope that a token must have."""
Toolset: TypeAlias = Literal["default", "full", "none"]
"""Whether agents get it as a tool: by default, in the full toolset, or never."""


def ok(result: BaseModel) -> int:
    """200, the HTTP status of most results."""
    return 200


@frozen
class Operation:
    """One operation on a store, identical on every surface.

    Attributes:
        name: Name of the library's verb.
        title: A few words for people.
        description: For agents and for readers of the OpenAPI document.
        input: Its fields have the names and defaults of the library's parameters.
        output: The JSON shape of the result, as the command line prints it under `--json`.
        effect: Its effect on the store. Counting a memory as used does not count as a write.
        idempotent: Whether repeating the call changes nothing more.
        scope: The scope that a token must have.
        handler: Converts a store and an input to an output; raises `WellkeptError`. By default the library's verb.
        toolset: Whether it is a tool for agents; by default in the full toolset.
        route: Its HTTP route; None for none.
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
    """201 when a memory was created, 202 when it was queued, 200 when it is a duplicate or was rejected."""
    match getattr(result, "outcome", ""):
        case "created" | "superseded":
            return 201
        case "queued":
            return 202
        case _:
            return 200


def reads(*columns: Any, **more: Any) -> Operation:
    """A row that only reads: name, title, description, input and output, then deviations from the defaults."""
    return _row("read", columns, more)


def writes(*columns: Any, **more: Any) -> Operation:
    """A row whose change can be undone; by default, repeating the call changes nothing more."""
    return _row("write", columns, more)


def _row(effect: Literal["read", "write"], columns: tuple[Any, ...], more: Mapping[str, Any]) -> Operation:
    name, output = columns[0], columns[-1]
    usual = {"effect": effect, "idempotent": True, "scope": effect, "toolset": "full", "route": ROUTES.get(name)}
    return Operation(*columns, **{**usual, "handler": verb(name, output), **more})
