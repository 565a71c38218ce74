"""Option groups: a frozen dataclass of annotated options, spelled out in the command line of a command.

Typer wants one parameter for each option. A command here takes a few values, among them groups;
`flattened` gives typer the long list and puts the groups together again before the call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints

from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from wellkept.cli.terminal.safe import safe


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


def options_of(group: type) -> list[inspect.Parameter]:
    """The options of a group as parameters."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            item.name, inspect.Parameter.KEYWORD_ONLY, default=_default(item), annotation=hints[item.name]
        )
        for item in fields(group)
    ]


def taken(group: type, values: Mapping[str, Any]) -> Any:
    """The group made of its options among the values."""
    return group(**{item.name: values[item.name] for item in fields(group)})


def flattened(
    function: Callable[..., Any], standing_in: Mapping[type, list[inspect.Parameter]]
) -> list[inspect.Parameter]:
    """The parameters of a function with each group spelled out.

    Args:
        function: Its parameters are values, groups, or types that others stand in for.
        standing_in: Type of a parameter to the parameters typer gets in its place.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if hint in standing_in:
            parameters += standing_in[hint]
        elif is_group(hint):
            parameters += options_of(hint)
        else:
            parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
    return parameters


def regrouped(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The flat values as the arguments of a function; parameters that others stand in for are left out."""
    hints = get_type_hints(function, include_extras=True)
    arguments = {}
    for name in inspect.signature(function).parameters:
        if is_group(hints[name]):
            arguments[name] = taken(hints[name], values)
        elif name in values:
            arguments[name] = values[name]
    return arguments


def is_group(hint: object) -> bool:
    """Whether a type is a group of options."""
    return isinstance(hint, type) and is_dataclass(hint)


def _default(item: Field[Any]) -> Any:
    return inspect.Parameter.empty if item.default is MISSING else item.default
