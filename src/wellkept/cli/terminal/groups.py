"""Options and groups of them: a frozen dataclass of options, spelled out in the command line of a command.

Typer wants one parameter for each option. A command here takes a few values, among them groups;
`flattened` gives typer the long list and puts the groups together again before the call.
`option`, `flag` and `argument` are written as the default of a parameter or of a group's field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, field, fields, is_dataclass
from inspect import Parameter
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from wellkept.cli.terminal.safe import safe

_METADATA = "typer"


def option(*names: str, default: Any = None, panel: str | None = None, **settings: Any) -> Any:
    """An option.

    Args:
        names: How it is spelled; by default as the parameter.
        default: Its value where it is not given; `MISSING` where it must be given.
        panel: Under which heading of the help.
        told: What else typer is told of it.
    """
    return field(default=default, metadata={_METADATA: typer.Option(*names, rich_help_panel=panel, **settings)})


def flag(*names: str, **settings: Any) -> Any:
    """An option without a value, off by default."""
    return option(*names, default=False, **settings)


def argument(*, default: Any = MISSING, **settings: Any) -> Any:
    """A value without a name, given by its place."""
    return field(default=default, metadata={_METADATA: typer.Argument(**settings)})


class Hinting(TyperCommand):
    """A command that says how to give a text that begins with a dash, where it is taken for an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; the hint is left out where a long option was merely misspelled."""
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            name = getattr(error, "option_name", "") if hasattr(error, "possibilities") else ""
            is_text = bool(name) and (not name.startswith("--") or " " in name)
            if is_text and any(param.param_type_name == "argument" for param in self.params):
                error.message += '. Put -- before a text that begins with a dash, as in: -- "-5 degrees"'
            raise


class SafeGroup(TyperGroup):
    """The group of all commands: a wrong word of a command line is named without what a terminal would obey."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command."""
        with _safe_message():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Read the rest of the command line and run the command."""
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
    hints = get_type_hints(group, include_extras=True)
    return [_parameter(item.name, hints[item.name], item) for item in fields(group)]


def collected(group: type, values: Mapping[str, Any]) -> Any:
    """The group made of its options among the values."""
    return group(**{item.name: values[item.name] for item in fields(group)})


def flattened(function: Callable[..., Any], standing_in: Mapping[type, list[Parameter]]) -> list[Parameter]:
    """The parameters of a function with each group spelled out.

    Args:
        function: Its parameters are values, groups, or types that others stand in for.
        standing_in: Type of a parameter to the parameters typer gets in its place.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters: list[Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if hint in standing_in:
            parameters += standing_in[hint]
        elif is_group(hint):
            parameters += options_of(hint)
        else:
            parameters.append(_parameter(name, hint, parameter.default))
    return parameters


def regrouped(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The flat values as the arguments of a function; parameters that others stand in for are left out."""
    hints = get_type_hints(function, include_extras=True)
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


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    """The parameter that typer gets; its default says what else is told of it."""
    if isinstance(default, Field):
        hint = Annotated[hint, default.metadata[_METADATA]] if default.metadata else hint
        default = Parameter.empty if default.default is MISSING else default.default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
