"""One run of a command: settings, store, output, errors and exit code.

Only here does an error become a message and an exit code. Standard output carries data only: tables and
sentences for people, or with `--json` exactly one object (one per line for lists). With `--json` an error is
printed there as `{"error": …}`. Progress, notes and error messages go to standard error.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import typer

from wellkept.cli.terminal import exits
from wellkept.cli.terminal.groups import flag, option
from wellkept.cli.terminal.safe import one_line, safe, safe_json
from wellkept.config import KEYS, Settings, load
from wellkept.errors import ConflictError, UndoBlocked, WellkeptError
from wellkept.frozen import frozen

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

    from wellkept.engine.verbs.store import MemoryStore

PhaseCallback: TypeAlias = Callable[[str, int, int], None]
_PANEL = "Options of every command"
_WIDTH_IN_A_PIPE = 100


@frozen(kw_only=True)
class Shared:
    """The global options; they may also stand before the command name."""

    db: str | None = option(metavar="PATH", panel=_PANEL, show_default=False, help="Path or URL of the store.")
    namespace: str | None = option(metavar="NAME", panel=_PANEL, help="Namespace, such as acme/alice/coder.")
    embedder: str | None = option(metavar="NAME", panel=_PANEL, help="auto, minilm, hashing or a URL.")
    policy: str | None = option(metavar="FILE", panel=_PANEL, help="The policy, a TOML file.")
    actor: str | None = option(metavar="NAME", panel=_PANEL, help="Name of the caller, for the journal.")
    durability: str | None = option(metavar="LEVEL", panel=_PANEL, help="full, or relaxed (faster).")
    json: bool = flag("--json", panel=_PANEL, help="Print JSON.")
    quiet: bool = flag("--quiet", "-q", panel=_PANEL, help="No progress and no notes.")

    def over(self, outer: Shared | None) -> Shared:
        """These options, completed by those before the command name."""
        if outer is None:
            return self
        merged = {item.name: getattr(self, item.name) or getattr(outer, item.name) for item in fields(self)}
        return replace(self, **merged)


class ProgressCallback(Protocol):
    """Callback that reports progress."""

    def __call__(self, part: int, whole: int | None = None) -> None:
        """`part` of `whole` is done; without `whole`, the previous total applies."""
        ...


class _Closing(Protocol):
    def close(self) -> None: ...


_Closable = TypeVar("_Closable", bound=_Closing)


class Session:
    """The settings, store and output of one command.

    Args:
        shared: The global options; also to pass to a child process.
    """

    def __init__(self, shared: Shared) -> None:
        self.json = shared.json
        self.quiet = shared.quiet
        self.shared = shared
        self._stack = ExitStack()

    # -- context ----------------------------------------------------------------------------

    @cached_property
    def settings(self) -> Settings:
        """The effective settings."""
        return load({key: getattr(self.shared, key) for key in KEYS})

    def store(self, *, writes: bool = True, model: bool = True) -> MemoryStore:
        """Open the store of this run; it is closed when the command ends.

        Args:
            writes: Whether a missing store may be created; a command that only reads never creates a file.
            model: Whether the command embeds new text.
        """
        from wellkept.cli.terminal.opening import open_store

        return self._stack.enter_context(open_store(self.settings, writes=writes, model=model, note=self.note))

    def given_option(self, key: str) -> str | None:
        """The value of a setting on the command line; None when absent."""
        value: str | None = getattr(self.shared, key)
        return value

    def on_end(self, call: Callable[[], object]) -> None:
        """Register a callback for the end of the command, with or without an error."""
        self._stack.callback(call)

    def closing(self, kept: _Closable) -> _Closable:
        """What is given, such as a store; it is closed when the command ends."""
        self.on_end(kept.close)
        return kept

    def keep_open(self, surroundings: AbstractContextManager[None]) -> None:
        """Keep a context manager open until the command ends; the last one is closed first."""
        self._stack.enter_context(surroundings)

    @cached_property
    def out(self) -> Console:
        """The console for data."""
        return _console(error=False)

    @cached_property
    def err(self) -> Console:
        """The console for progress, notes and errors."""
        return _console(error=True)

    # -- printing ---------------------------------------------------------------------------

    def show(self, value: object, human: Callable[[], Iterable[RenderableType | str]]) -> None:
        """Print a value: as JSON, or in the form that `human` returns."""
        self.show_each((value,), human)

    def show_each(self, values: Iterable[object], human: Callable[[], Iterable[RenderableType | str]]) -> None:
        """Print a list: one JSON object per line, or the form that `human` returns."""
        if self.json:
            for value in values:
                self.emit(value)
            return
        for part in human():
            self.print(part)

    def emit(self, value: object) -> None:
        """Print one line of JSON with the keys of the library."""
        from wellkept.core.records.codec import to_plain

        sys.stdout.write(safe_json(to_plain(value, full=True), encoding=sys.stdout.encoding) + "\n")

    def print(self, part: RenderableType | str) -> None:
        """Print text output. Sentences are wrapped by the terminal; tables fit its width."""
        from rich.text import Text

        words = part if isinstance(part, str) else part.plain if isinstance(part, Text) else ""
        part = part if safe(words, lines=True) == words else safe(words, lines=True)
        self.out.print(part, soft_wrap=isinstance(part, str | Text))

    def note(self, text: str) -> None:
        """Print a note to standard error."""
        if not self.quiet:
            self.err.print(one_line(text), soft_wrap=True)

    def confirmed(self, question: str, *, to: str) -> bool:
        """Ask for confirmation; a usage error when no person can be asked."""
        if self.json or not sys.stdin.isatty():
            raise typer.BadParameter(f"No terminal to ask on: pass --yes to {to}", param_hint="--yes")
        return typer.confirm(question, err=True)

    @contextmanager
    def progress(self, words: str, total: int | None, *, of: str = "") -> Iterator[ProgressCallback]:
        """Show a progress bar on a terminal; yields a callback that takes the amount done and optionally a new total.

        Args:
            words: The activity.
            total: The total amount; None when unknown, as is a later total of 0.
            of: The unit.
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
    def phases(self, words: str) -> Iterator[PhaseCallback]:
        """As `progress`, for work that names the phase it is in, which the bar does not show."""
        with self.progress(words, None) as done:
            yield lambda _, part, whole: done(part, whole)

    @contextmanager
    def busy(self, words: str) -> Iterator[None]:
        """Show a spinner on a terminal, for work without known progress."""
        if self.quiet or not self.err.is_terminal:
            yield
            return
        with self.err.status(words):
            yield

    # -- ending -----------------------------------------------------------------------------

    def run(self, work: Callable[[], int | None]) -> int:
        """Run the command and return its exit code."""
        try:
            code = self._done(work)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            return exits.READER_GONE
        except OSError as error:  # a full disk under the output or a temporary file
            self._say(WellkeptError(f"the system refuses: {error.strerror}", where=str(error.filename or "output")))
            return exits.ERROR

    def _done(self, work: Callable[[], int | None]) -> int:
        try:
            with self._stack:
                if not self.quiet:
                    self._show_warnings()
                return work() or exits.OK
        except WellkeptError as error:
            self.fail(error)
            return exits.code_of(error)

    def fail(self, error: WellkeptError, *, about: str = "") -> None:
        """Print an error; with `about`, that of one item of several."""
        if not self.json:
            self._say(error, about)
            return
        payload: dict[str, Any] = {
            "type": type(error).__name__,
            "what": error.what,
            "where": error.where,
            "todo": error.todo,
            "message": str(error),
        }
        match error:
            case ConflictError():
                payload["conflicts"] = error.conflicts
            case UndoBlocked():
                payload["entries"] = error.entries
            case _:
                pass
        self.emit({**({"about": about} if about else {}), "error": payload})

    def _say(self, error: WellkeptError, about: str = "") -> None:
        words = f"{about}: {error}" if about else str(error)
        self.err.print(f"error: {one_line(words, limit=2_000)}", style="red", soft_wrap=True)

    def _show_warnings(self) -> None:
        handler = _Warnings(self)
        logger = logging.getLogger("wellkept")
        logger.addHandler(handler)
        self._stack.callback(logger.removeHandler, handler)


class _Warnings(logging.Handler):
    """Prints the library's warnings as notes, escaped, because they may quote stored texts."""

    def __init__(self, session: Session) -> None:
        super().__init__(logging.WARNING)
        self._session = session

    def emit(self, record: logging.LogRecord) -> None:
        self._session.note(f"warning: {record.getMessage()}")


def flush_output(code: int) -> int:
    """Flush the output; when that fails, prevent the interpreter from reporting it again."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = exits.READER_GONE
    except OSError:  # already reported by the command that could not write
        code = code or exits.ERROR
    else:
        if code != exits.READER_GONE:
            return code
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _ignore(part: int, whole: int | None = None) -> None:
    """Progress callback that does nothing."""


def _console(*, error: bool) -> Console:
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the exit code is chosen in one place

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else shutil.get_terminal_size((_WIDTH_IN_A_PIPE, 24)).columns
    # No markup, no emoji codes, no number highlighting: the output is the user's text.
    return Plain(file=stream, markup=False, emoji=False, highlight=False, width=width)


def _bar(console: Console, of: str) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    words = (TextColumn("{task.description}", markup=False), BarColumn())
    counts = (MofNCompleteColumn(), *([TextColumn(of, markup=False)] if of else []))
    # By the recent speed: batches take seconds, and their durations differ.
    return Progress(*words, *counts, TimeRemainingColumn(), console=console, transient=True, speed_estimate_period=300)
