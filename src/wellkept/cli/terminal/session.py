"""One run of a command: settings, the store, what is printed, and how it ends.

This is the only place where an error becomes a line and an exit code. Standard output carries data
only: tables and sentences for people, or with `--json` exactly one object (one a line for lists);
there an error is `{"error": …}`. Progress, notes and error lines go to standard error.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Protocol, cast

import typer

from wellkept.cli.terminal import exits
from wellkept.cli.terminal.groups import Hinting, collected, flag, flattened, option, options_of, regrouped
from wellkept.cli.terminal.safe import one_line, safe, safe_json
from wellkept.config import KEYS, Settings, load
from wellkept.errors import ConflictError, UndoBlocked, WellkeptError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

    from wellkept.engine.verbs.store import MemoryStore

_PANEL = "Options of every command"
_WIDTH_IN_A_PIPE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The options of every command; they may stand before its name too."""

    db: str | None = option(metavar="PATH", panel=_PANEL, show_default=False, help="Path or URL of the store.")
    namespace: str | None = option(metavar="NAME", panel=_PANEL, help="Namespace, such as acme/alice/coder.")
    embedder: str | None = option(metavar="NAME", panel=_PANEL, help="auto, minilm, hashing or a URL.")
    policy: str | None = option(metavar="FILE", panel=_PANEL, help="The policy, a TOML file.")
    actor: str | None = option(metavar="NAME", panel=_PANEL, help="Name of the caller, for the journal.")
    durability: str | None = option(metavar="LEVEL", panel=_PANEL, help="full, or relaxed (faster).")
    json: bool = flag("--json", panel=_PANEL, help="Print JSON.")
    quiet: bool = flag("--quiet", "-q", panel=_PANEL, help="No progress and no notes.")

    def over(self, outer: Shared | None) -> Shared:
        """These options, with those that stood before the command's name where nothing is said here."""
        if outer is None:
            return self
        said = {item.name: getattr(self, item.name) or getattr(outer, item.name) for item in fields(self)}
        return replace(self, **said)


class ProgressCallback(Protocol):
    """Told how far the work is."""

    def __call__(self, part: int, whole: int | None = None) -> None:
        """`part` of `whole` is done; the whole as it was before where it is not said."""
        ...


class Session:
    """What a command works with."""

    def __init__(self, shared: Shared) -> None:
        self.json = shared.json
        self.quiet = shared.quiet
        self._shared = shared
        self._stack = ExitStack()

    # -- surroundings -----------------------------------------------------------------------

    @property
    def shared(self) -> Shared:
        """The options of every command, for a process that shall do the same."""
        return self._shared

    @cached_property
    def settings(self) -> Settings:
        """The settings in force."""
        return load({key: getattr(self._shared, key) for key in KEYS})

    def store(self, *, writes: bool = True, model: bool = True) -> MemoryStore:
        """The store of this run, opened; closed when the command ends.

        Args:
            writes: Whether it may be made if it does not exist; a reader never makes a file.
            model: Whether the command needs vectors of new text.
        """
        from wellkept.cli.terminal.opening import open_store

        return self._stack.enter_context(open_store(self.settings, writes=writes, model=model, note=self.note))

    def given_option(self, key: str) -> str | None:
        """What the command line itself says of a setting."""
        said: str | None = getattr(self._shared, key)
        return said

    def on_end(self, call: Callable[[], object]) -> None:
        """Have something done when the command ends, however it does."""
        self._stack.callback(call)

    def keep_open(self, surroundings: AbstractContextManager[None]) -> None:
        """Keep surroundings until the command ends; the last ones end first."""
        self._stack.enter_context(surroundings)

    @cached_property
    def out(self) -> Console:
        """Where data goes."""
        return _console(error=False)

    @cached_property
    def err(self) -> Console:
        """Where progress, notes and errors go."""
        return _console(error=True)

    # -- printing ---------------------------------------------------------------------------

    def show(self, value: object, human: Callable[[], Iterable[RenderableType | str]]) -> None:
        """Print a value: as JSON, or what `human` makes of it."""
        if self.json:
            self.emit(value)
            return
        for part in human():
            self.print(part)

    def show_each(self, values: Iterable[object], human: Callable[[], Iterable[RenderableType | str]]) -> None:
        """Print a list: one JSON object a line, or what `human` makes of it."""
        if self.json:
            for value in values:
                self.emit(value)
            return
        for part in human():
            self.print(part)

    def emit(self, value: object) -> None:
        """Print one line of JSON with the keys of the library's value."""
        from wellkept.core.records.codec import to_plain

        sys.stdout.write(safe_json(to_plain(value, full=True), encoding=sys.stdout.encoding) + "\n")

    def print(self, part: RenderableType | str) -> None:
        """Print for people. Sentences are left to the terminal to break; tables fit its width."""
        from rich.text import Text

        words = part if isinstance(part, str) else part.plain if isinstance(part, Text) else ""
        part = part if safe(words, lines=True) == words else safe(words, lines=True)
        self.out.print(part, soft_wrap=isinstance(part, str | Text))

    def note(self, text: str) -> None:
        """A remark beside the data."""
        if not self.quiet:
            self.err.print(one_line(text), soft_wrap=True)

    def confirmed(self, question: str, *, to: str) -> bool:
        """Whether a person says yes; a usage error where nobody can be asked."""
        if self.json or not sys.stdin.isatty():
            raise typer.BadParameter(f"No terminal to ask on: pass --yes to {to}", param_hint="--yes")
        return typer.confirm(question, err=True)

    @contextmanager
    def progress(self, words: str, total: int | None, *, of: str = "") -> Iterator[ProgressCallback]:
        """A bar on a terminal; the function it gives takes what is done so far, and of how much if that is news.

        Args:
            words: What is going on.
            total: How much there is; None where nobody knows, as is a whole of 0 later.
            of: What is counted.
        """
        if self.quiet or not self.err.is_terminal:
            yield _ignore
            return
        with _bar(self.err, of) as bar:
            task = bar.add_task(one_line(words), total=total)

            def done(part: int, whole: int | None = None) -> None:
                bar.update(task, completed=part, total=total if whole is None else whole or None)

            yield done

    @contextmanager
    def busy(self, words: str) -> Iterator[None]:
        """A sign of life on a terminal, for work that cannot say how far it is."""
        if self.quiet or not self.err.is_terminal:
            yield
            return
        with self.err.status(words):
            yield

    # -- ending -----------------------------------------------------------------------------

    def run(self, work: Callable[[], int | None]) -> int:
        """Do the work of a command; returns the exit code."""
        try:
            code = self._done(work)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            return exits.READER_GONE
        except OSError as error:  # a full disk below the output or a temporary file
            self._say(WellkeptError(f"the system refuses: {error.strerror}", where=str(error.filename or "output")))
            return exits.ERROR

    def _done(self, work: Callable[[], int | None]) -> int:
        try:
            with self._stack:
                if not self.quiet:
                    self._show_warnings()
                return work() or exits.OK
        except WellkeptError as error:
            self._fail(error)
            return exits.code_of(error)

    def _fail(self, error: WellkeptError) -> None:
        if not self.json:
            self._say(error)
            return
        told: dict[str, Any] = {
            "type": type(error).__name__,
            "what": error.what,
            "where": error.where,
            "todo": error.todo,
            "message": str(error),
        }
        match error:
            case ConflictError():
                told["conflicts"] = error.conflicts
            case UndoBlocked():
                told["entries"] = error.entries
            case _:
                pass
        self.emit({"error": told})

    def _say(self, error: WellkeptError) -> None:
        self.err.print(f"error: {one_line(str(error), limit=2_000)}", style="red", soft_wrap=True)

    def _show_warnings(self) -> None:
        handler = _Warnings(self)
        logger = logging.getLogger("wellkept")
        logger.addHandler(handler)
        self._stack.callback(logger.removeHandler, handler)


class _Warnings(logging.Handler):
    """Shows the library's warnings as notes; they may quote memories, so they are made safe like these."""

    def __init__(self, session: Session) -> None:
        super().__init__(logging.WARNING)
        self._session = session

    def emit(self, record: logging.LogRecord) -> None:
        self._session.note(f"warning: {record.getMessage()}")


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its name, what it does, and how its answer is shown.

    Attributes:
        name: Its name.
        work: Takes a `Session` and further values; gives an exit code, or where there is a view the answer.
        view: Makes what people see of the answer.
        each: Whether the answer is a list, in JSON one object a line.
        own: Options of every command that the function takes itself, because here they mean something else.
        without: Options of its groups that it does not have, because the verb decides about them.
    """

    name: str
    work: Callable[..., Any]
    view: Callable[[Any], Iterable[RenderableType | str]] | None = None
    each: bool = field(default=False, kw_only=True)
    own: Collection[str] = field(default=(), kw_only=True)
    without: Collection[str] = field(default=(), kw_only=True)

    def onto(self, app: typer.Typer, panel: str | None = None) -> None:
        """Add it, under a heading of the help."""

        def run(**values: Any) -> None:
            ctx: typer.Context = values["ctx"]
            session = Session(collected(Shared, values | dict.fromkeys(self.own)).over(ctx.obj))
            arguments = regrouped(self.work, dict.fromkeys(self.without) | values)
            raise typer.Exit(session.run(lambda: self._done(session, self.work(session, **arguments))))

        shared = [Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        parameters = flattened(self.work, {Session: shared})
        parameters = [option for option in parameters if option.name not in self.without]
        parameters += [option for option in options_of(Shared) if option.name not in self.own]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__name__, run.__doc__ = self.work.__name__, self.work.__doc__
        app.command(self.name, cls=Hinting, rich_help_panel=panel)(run)

    def _done(self, run: Session, answer: Any) -> int | None:
        view = self.view
        if view is None:
            return cast("int | None", answer)
        (run.show_each if self.each else run.show)(answer, lambda: view(answer))
        return exits.OK


@dataclass(frozen=True, slots=True)
class Group:
    """Commands behind a common name."""

    name: str
    help: str
    commands: Iterable[Command]

    def onto(self, app: typer.Typer, panel: str | None = None) -> None:
        """Add it, under a heading of the help."""
        made = typer.Typer(name=self.name, no_args_is_help=True, help=self.help)
        for command in self.commands:
            command.onto(made)
        app.add_typer(made, rich_help_panel=panel)


def flush_output(code: int) -> int:
    """Flush what is left; when it can be written nowhere, the interpreter need not say so once more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = exits.READER_GONE
    except OSError:  # said before, by the command that could not write
        code = code or exits.ERROR
    else:
        if code != exits.READER_GONE:
            return code
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _ignore(part: int, whole: int | None = None) -> None:
    """Nobody watches."""


def _console(*, error: bool) -> Console:
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # how a command ends is decided in one place

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else shutil.get_terminal_size((_WIDTH_IN_A_PIPE, 24)).columns
    # No markup, no emoji codes, no guessing at numbers: what is printed is the user's text.
    return Plain(file=stream, markup=False, emoji=False, highlight=False, width=width)


def _bar(console: Console, of: str) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    words = (TextColumn("{task.description}", markup=False), BarColumn())
    counts = (MofNCompleteColumn(), *([TextColumn(of, markup=False)] if of else []))
    # By the speed of the last minutes: batches take seconds, and not all of them the same.
    return Progress(*words, *counts, TimeRemainingColumn(), console=console, transient=True, speed_estimate_period=300)
