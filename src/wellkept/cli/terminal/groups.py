"""Options and groups of options: a group is a frozen dataclass whose fields become options of a command;
a field may be a group itself.

Typer requires one parameter per option. A command here takes few parameters, some of which are groups;
`flattened` gives typer the full list, and `regrouped` builds the groups before the call.
`option`, `flag` and `argument` are written as the default of a parameter or of a group's field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache, partial
from inspect import Parameter
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from wellkept.cli.terminal.plain_values import plainly
from wellkept.cli.terminal.safe import safe

_METADATA = "typer"
_hints = cache(partial(get_type_hints, include_extras=True))


def option(*names: str, default: Any = None, panel: str | None = None, **settings: Any) -> Any:
    """Declare an option.

    Args:
        names: Its spellings; derived from the parameter name by default.
        default: Its default value; `MISSING` when the option is required.
        panel: Its heading in the help.
        settings: Further arguments for typer.
    """
    return field(default=default, metadata={_METADATA: typer.Option(*names, rich_help_panel=panel, **settings)})


def flag(*names: str, **settings: Any) -> Any:
    """Declare an option without a value, off by default."""
    return option(*names, default=False, **settings)


def argument(*, default: Any = MISSING, **settings: Any) -> Any:
    """Declare a positional argument."""
    return field(default=default, metadata={_METADATA: typer.Argument(**settings)})


class Hinting(TyperCommand):
    """A command that explains how to pass a text with a leading dash when it was parsed as an option."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, and `--help`."""
        return plainly(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; the hint is omitted when a long option was merely misspelled."""
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            name = getattr(error, "option_name", "") if hasattr(error, "possibilities") else ""
            is_text = bool(name) and (not name.startswith("--") or " " in name)
            if is_text and any(param.param_type_name == "argument" for param in self.params):
                error.message += '. Put -- before a text that begins with a dash, as in: -- "-5 degrees"'
            raise


class SafeGroup(TyperGroup):
    """The group of all commands; unknown words are escaped before they appear in an error message."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, and `--help`."""
        return plainly(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the command."""
        with _safe_message():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Parse the rest of the command line and run the command."""
        with _safe_message():
            return super().invoke(ctx)


@contextmanager
def _safe_message() -> Iterator[None]:
    try:
        yield
    except TyperException as error:
        error.message = safe(error.message, lines=True)
        raise


def options_of(group: type) -> list[Parameter]:
    """The options of a group as parameters."""
    hints = _hints(group)
    return [one for item in fields(group) for one in _spelled_out(item.name, hints[item.name], item)]


def collected(group: type, values: Mapping[str, Any]) -> Any:
    """A group built from its options among the values."""
    hints = {item.name: _hints(group)[item.name] for item in fields(group)}
    return group(**{name: collected(hint, values) if is_group(hint) else values[name] for name, hint in hints.items()})


def flattened(function: Callable[..., Any], standing_in: Mapping[type, list[Parameter]]) -> list[Parameter]:
    """The parameters of a function with each group spelled out.

    Args:
        function: A function whose parameters are values, groups, or types with replacements.
        standing_in: Parameter type to the parameters that replace it.
    """
    hints = _hints(function)
    parameters: list[Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if hint in standing_in:
            parameters += standing_in[hint]
        else:
            parameters += _spelled_out(name, hint, parameter.default)
    return parameters


def regrouped(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The flat values as arguments of a function; parameters with replacements are omitted."""
    hints = _hints(function)
    arguments = {}
    for name in inspect.signature(function).parameters:
        if is_group(hints[name]):
            arguments[name] = collected(hints[name], values)
        elif name in values:
            arguments[name] = values[name]
    return arguments


def is_group(hint: object) -> bool:
    """Whether a type is a group of options."""
    return isinstance(hint, type) and is_dataclass(hint)


def _spelled_out(name: str, hint: Any, default: Any) -> list[Parameter]:
    return options_of(hint) if is_group(hint) else [_parameter(name, hint, default)]


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    """The parameter for typer; a default declared as an option carries further settings."""
    if isinstance(default, Field):
        hint = Annotated[hint, default.metadata[_METADATA]] if default.metadata else hint
        default = Parameter.empty if default.default is MISSING else default.default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
