"""`wellkept call`: each operation of the table as a command generated from its row.

The other commands are written for people: short options, texts from files, tables, prompts. The commands here
are generated, so that a row added to the table becomes a command with the same fields, defaults and answer as in
REST and MCP. Each command is generated on demand, because loading the table takes longer than loading the rest of
the command line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer
from typer.core import TyperGroup

from wellkept.cli.terminal import exits
from wellkept.cli.terminal.command_table import Command
from wellkept.cli.terminal.fields import bytes_of, json_value
from wellkept.cli.terminal.session import Session
from wellkept.errors import InvalidInput
from wellkept.parsing import parsed_json

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from wellkept.operations.registry import Operation

FROM = "fields_from"
YES = "yes"
_FOUND = ("errors", "failed", "problems")
"""Fields of an answer that report errors or problems; they set the same exit code as in the other commands."""


class Operations(TyperGroup):
    """The operations by name; each command is generated on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        from wellkept.operations.registry import OPERATIONS

        return [row.name for row in OPERATIONS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of an operation; None for an unknown name."""
        from wellkept.operations.registry import OPERATIONS

        return next((command_of(row) for row in OPERATIONS if row.name == cmd_name), None)


def command_of(row: Operation) -> Any:
    """The command of an operation: its fields become options, its description becomes the help.

    Args:
        row: A row of the table, or any other operation.
    """
    found = Command(row.name, _work_of(row)).made()
    found.short_help = row.title
    return found


def _work_of(row: Operation) -> Callable[..., int]:
    """The function of the command; its signature defines the options."""

    def work(run: Session, **values: Any) -> int:
        from wellkept.operations.registry import parsed

        if row.effect == "destructive" and not values[YES]:
            raise typer.BadParameter("This cannot be undone: pass --yes to confirm", param_hint="--yes")
        fields = row.input.model_fields
        options = {name: values[name] for name in fields if values[name] is not None and values[name] != []}
        given = {
            **_object(values[FROM]),
            **{name: _value(name, fields[name], value) for name, value in options.items()},
        }
        wanted = parsed(row, given)
        answer = row.handler(run.store(writes=row.effect != "read"), wanted).model_dump(mode="json", by_alias=True)
        run.emit(answer)
        return _code(answer)

    hints: dict[str, Any] = {"run": Session}
    hints |= {name: _option(name, field) for name, field in row.input.model_fields.items()}
    hints[FROM] = Annotated[
        Path | None, typer.Option("--from", metavar="FILE|-", help="Fields as one JSON object; options go before it.")
    ]
    unsaid: dict[str, Any] = {"run": inspect.Parameter.empty}
    if row.effect == "destructive":
        hints[YES] = Annotated[bool, typer.Option("--yes", "-y", help="Confirm an operation that cannot be undone.")]
        unsaid[YES] = False
    work.__annotations__ = hints
    work.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=unsaid.get(name)) for name in hints]
    )
    work.__name__, work.__doc__ = row.name, row.description
    return work


def _option(name: str, field: FieldInfo) -> Any:
    """The option of a field. Its default is unset, so that the default of the row applies."""
    spelled, parts = f"--{name.replace('_', '-')}", alternatives(field.annotation)
    kind: Any = str
    metavar: str | None = (
        "TEXT" if parts == (str,) else "WORD|JSON" if any(_is_word(part) for part in parts) else "JSON"
    )
    match parts:
        case (only,) if only is bool:
            kind, spelled, metavar = bool, f"{spelled}/--no-{spelled[2:]}", None
        case (only,) if only is not str and _is_word(only):
            kind, metavar = only, None
        case (only,) if get_origin(only) is list:
            kind, metavar = list[str], "TEXT"
        case (only,) if only in (int, float):
            metavar = "NUMBER"
        case _:
            pass
    declared = typer.Option(spelled, metavar=metavar, help=_help(field), show_default=_default(field))
    return Annotated[kind | None, declared]


def _help(field: FieldInfo) -> str:
    more = "Required." if field.is_required() else "Repeatable." if _is_list(field) else ""
    return f"{field.description or ''} {more}".strip()


def _default(field: FieldInfo) -> str | bool:
    """The default shown in the help; False where showing it is of no use."""
    if field.is_required() or field.default in (None, "", [], {}):
        return False
    return str(field.default).lower() if isinstance(field.default, bool) else str(field.default)


def _value(name: str, field: FieldInfo, value: Any) -> Any:
    """The given option as the JSON value of the field; a number written as words stays a text and is rejected later."""
    if not isinstance(value, str):
        return value
    parts = alternatives(field.annotation)
    is_text = any(_is_word(part) for part in parts) and (len(parts) == 1 or not value.lstrip().startswith("{"))
    return value if is_text else json_value(name, value)


def _object(file: Path | None) -> Mapping[str, Any]:
    """The fields in a file.

    Raises:
        InvalidInput: It is not a JSON object.
        StorePathError: It cannot be read.
    """
    if file is None:
        return {}
    found = parsed_json(bytes_of(file), where=str(file), todo="Write one object of fields")
    if not isinstance(found, dict):
        raise InvalidInput("is not a JSON object", where=str(file), todo="Write one object of fields")
    return found


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """The types of a field, without null and without annotations."""
    if get_origin(annotation) is Annotated:
        return alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return tuple(part for arg in get_args(annotation) if arg is not NoneType for part in alternatives(arg))
    return (annotation,)


def _is_word(part: Any) -> bool:
    """Whether the type is a text or a closed set of texts."""
    return part is str or (get_origin(part) is Literal and all(isinstance(word, str) for word in get_args(part)))


def _is_list(field: FieldInfo) -> bool:
    return any(get_origin(part) is list for part in alternatives(field.annotation))


def _code(answer: Mapping[str, Any]) -> int:
    if answer.get("outcome") == "rejected":
        return exits.REFUSED
    return exits.FINDINGS if any(answer.get(name) for name in _FOUND) else exits.OK


CALL = typer.Typer(
    name="call",
    cls=Operations,
    no_args_is_help=True,
    add_completion=False,
    help="Call any operation by name, with the same fields and JSON as REST and MCP; for scripts.",
)


@CALL.callback()
def _group() -> None:
    """Placeholder that gives the group its help."""
