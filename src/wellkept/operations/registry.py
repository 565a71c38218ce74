"""The table of operations: input, output, effect and scope of each.

REST, MCP and `wellkept call` are generated from `OPERATIONS`; the other commands are compared with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from wellkept.errors import InvalidField, NotFound
from wellkept.operations.refusing import nested_model, refusal, refuse_many
from wellkept.operations.row import Effect, Operation, Scope, Toolset
from wellkept.operations.table import OPERATIONS
from wellkept.parsing import parsed_json
from wellkept.routes import Method, Route

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

__all__ = [
    "OPERATIONS",
    "Effect",
    "Method",
    "Operation",
    "Route",
    "Scope",
    "Toolset",
    "call",
    "operation",
    "parsed",
]

_BY_NAME = {row.name: row for row in OPERATIONS}
_SHOWN = 60


def operation(name: str) -> Operation:
    """The operation with this name.

    Raises:
        NotFound: No operation has this name.

    Example:
        >>> operation("recall").effect
        'read'
    """
    row = _BY_NAME.get(name)
    if row is None:
        raise NotFound("there is no such operation", where=name[:_SHOWN], todo=f"Use one of: {', '.join(_BY_NAME)}")
    return row


def call(store: MemoryStore, name: str, fields: Mapping[str, Any]) -> BaseModel:
    """Run an operation.

    Args:
        store: A store bound to the namespace and session of the caller.
        name: Name of the operation.
        fields: Fields of its input, as JSON values.

    Raises:
        NotFound: There is no such operation, or no record with the given id.
        InvalidField: A field is unknown, missing or of the wrong type; nothing was done.
        WellkeptError: Raised by the library's verb.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     call(store, "remember", {"content": "Tea is upstairs."}).outcome
        'created'
    """
    row = operation(name)
    return row.handler(store, parsed(row, fields))


def parsed(row: Operation, fields: Mapping[str, Any], *, texts: bool = False) -> BaseModel:
    """Parse and check the input of an operation.

    Args:
        row: The operation.
        fields: JSON values, without conversion: a number in quotes is not a number.
        texts: Whether the values are texts, as in a query string. Each text is then converted to the type of
            its field; an object or a list of objects is JSON text.

    Raises:
        InvalidField: A field is unknown, missing or of the wrong type.
    """
    refuse_many(row.input, fields)
    try:
        values = {name: _unquoted(row, name, value) for name, value in fields.items()} if texts else dict(fields)
        return row.input.model_validate(values, strict=not texts)
    except ValidationError as error:
        raise refusal(row.input, error) from error


def _unquoted(row: Operation, name: str, value: Any) -> Any:
    """Parse an object that a query contains as text."""
    if not isinstance(value, str) or not value.lstrip().startswith("{") or nested_model(row.input, name) is None:
        return value
    return parsed_json(value, where=name, todo="Write an object", error=InvalidField)
