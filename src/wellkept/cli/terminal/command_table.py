"""The rows of the table of commands: one command, a group of commands, and how they are made when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.main import get_command

from wellkept.cli.terminal import exits
from wellkept.cli.terminal.groups import Hinting, collected, flattened, options_of, regrouped
from wellkept.cli.terminal.session import Session, Shared
from wellkept.frozen import frozen

if TYPE_CHECKING:
    from rich.console import RenderableType


@frozen
class Command:
    """One command: its name, its function, and the view of its answer.

    Attributes:
        name: Its name.
        work: Takes a `Session` and further values; returns an exit code, or the answer when there is a view.
            A function, or its place: `memory.read_commands:recall`.
        view: Formats the answer for people; a function, or its place.
        each: Whether the answer is a list, printed in JSON as one object per line.
        own: Global options that the function takes itself, because they have another meaning here.
        without: Options of its groups that the command lacks, because it sets them itself.
    """

    name: str
    work: Callable[..., Any] | str
    view: Callable[[Any], Iterable[RenderableType | str]] | str | None = None
    each: bool = field(default=False, kw_only=True)
    own: Collection[str] = field(default=(), kw_only=True)
    without: Collection[str] = field(default=(), kw_only=True)

    def made(self, panel: str | None = None) -> Any:
        """The command for a group of commands, under a heading of its help."""
        app = typer.Typer(add_completion=False)
        self.onto(app, panel)
        return get_command(app)

    def onto(self, app: typer.Typer, panel: str | None = None) -> None:
        """Add the command under a heading of the help."""
        work = named(self.work)

        def run(**values: Any) -> None:
            ctx: typer.Context = values["ctx"]
            session = Session(collected(Shared, values | dict.fromkeys(self.own)).over(ctx.obj))
            arguments = regrouped(work, dict.fromkeys(self.without) | values)
            raise typer.Exit(session.run(lambda: self._done(session, work(session, **arguments))))

        shared = [Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        parameters = flattened(work, {Session: shared})
        parameters = [option for option in parameters if option.name not in self.without]
        parameters += [option for option in options_of(Shared) if option.name not in self.own]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__name__, run.__doc__ = work.__name__, work.__doc__
        app.command(self.name, cls=Hinting, rich_help_panel=panel)(run)

    def _done(self, run: Session, answer: Any) -> int | None:
        if self.view is None:
            return cast("int | None", answer)
        view = named(self.view)
        (run.show_each if self.each else run.show)(answer, lambda: view(answer))
        return exits.OK


@frozen
class Group:
    """Commands under a common name."""

    name: str
    help: str
    commands: Iterable[Command]

    def made(self, panel: str | None = None) -> Any:
        """The group for the group above it, under a heading of its help."""
        app = typer.Typer(name=self.name, no_args_is_help=True, help=self.help, add_completion=False)
        for command in self.commands:
            command.onto(app)
        return _under(panel, app)


@frozen
class Elsewhere:
    """An application of its own as a group of commands.

    Attributes:
        name: The name of the group.
        place: The application, named by its module: `memory.call_commands:CALL`.
    """

    name: str
    place: str

    def made(self, panel: str | None = None) -> Any:
        """The group for the group above it, under a heading of its help."""
        return _under(panel, named(self.place))


class OnDemand(Mapping[str, Any]):
    """Commands by name; each is made when it is looked up, so that a run imports the modules of one command.

    Args:
        makers: Makes the command of each name.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = {name: cache(make) for name, make in makers.items()}

    def __getitem__(self, name: str) -> Any:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _under(panel: str | None, app: typer.Typer) -> Any:
    group: Any = get_command(app)
    group.rich_help_panel = panel
    return group


def named(place: Any) -> Any:
    """What a name such as `memory.read_commands:recall` stands for below `wellkept.cli`; anything else itself."""
    if not isinstance(place, str):
        return place
    module, _, name = place.partition(":")
    return getattr(import_module(f"wellkept.cli.{module}"), name)
