"""The demo from an empty store to the last line: runs the story and prints it."""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

import wellkept
from wellkept.cli.demo import record, story, view
from wellkept.errors import StorePathError

_NAME = "wellkept"


def run(
    console: Console,
    *,
    db: str | None = None,
    pause: float = 0.03,
    as_json: bool = False,
    embedder: str | None = None,
    relation_model: str | None = None,
    verbose: bool = False,
) -> int:
    """Write a month of notes through the gate, then print a summary, the conflicts, a query and an undo.

    Args:
        console: The output; its width and colour settings are used.
        db: Path of the store, to inspect it afterwards; without it, a temporary file is used and
            removed at the end.
        pause: Seconds between two writes on a terminal; a pipe has no pauses.
        as_json: Print one JSON object instead.
        embedder / relation_model: As in `wellkept.open`.
        verbose: Print every write with its reason as it is decided, before the summary.

    Returns:
        The exit code; always 0.

    Raises:
        StorePathError: A file exists at `db`; the demo never writes to an existing store.
    """
    lines = story.sample()
    with ExitStack() as stack:
        path = _fresh(db) if db is not None else _temporary(stack)
        clock = story.SampleClock(lines[0].at)
        if not as_json:
            view.opening(console, lines)
        store = stack.enter_context(
            wellkept.open(str(path), embedder=embedder, relation_model=relation_model, actor="demo", clock=clock)
        )
        steps: list[story.Step] = []
        for line in lines:
            clock.now = line.at
            steps.append(story.write(store, line))
            if verbose and not as_json:
                view.step(console, steps[-1], story.numbers(steps))
                if console.is_terminal and pause > 0:
                    time.sleep(pause)
        clock.later(1)
        month = story.Story(
            steps=tuple(steps),
            figures=story.figures(store, steps),
            conflicts=store.conflicts(),
            answer=story.ask(store, story.QUESTION),
            taken_back=story.take_back(store, steps, clock),
            embedder=store.stats().embedder,
        )
    if as_json:
        console.out(record.as_json(month, db), highlight=False)
    else:
        view.ending(console, month, db=db, program=_program(), verbose=verbose)
    return 0


def _fresh(db: str) -> Path:
    path = Path(db)
    if path.exists():
        raise StorePathError(
            "the file exists", where=str(path), todo="Name a file that does not exist; the demo creates it"
        )
    return path


def _temporary(stack: ExitStack) -> Path:
    # Windows may keep the file open for a moment; a leftover file in the temporary folder is harmless.
    folder = stack.enter_context(TemporaryDirectory(prefix="wellkept-demo-", ignore_cleanup_errors=True))
    return Path(folder) / "month.db"


def _program() -> str:
    """How to call this program again: by name, or by path when the name is not on PATH."""
    called = Path(sys.argv[0])
    return str(called) if called.stem == _NAME and shutil.which(_NAME) is None else _NAME
