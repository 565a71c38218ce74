"""The demo from an empty store to its last line: `run` ties what happens to what is shown."""

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
    verbose: bool = False,
) -> int:
    """Take a month of notes through the gate, then sum up, show conflicts, ask and undo.

    Args:
        console: Where to write; its width and its colours are kept to.
        db: A path for the store, to look into it afterwards; otherwise a temporary file, which is
            removed at the end.
        pause: Seconds between two writes shown on a terminal; there is none in a pipe.
        as_json: Write one JSON object instead.
        embedder: As in `wellkept.open`.
        verbose: Show every write with its reason as it is decided, before the summary.

    Returns:
        The exit code, 0.

    Raises:
        StorePathError: There is a file at `db` already; a demo never touches an existing store.
    """
    lines = story.sample()
    with ExitStack() as stack:
        path = _fresh(db) if db is not None else _temporary(stack)
        clock = story.SampleClock(lines[0].at)
        if not as_json:
            view.opening(console, lines)
        store = stack.enter_context(wellkept.open(str(path), embedder=embedder, actor="demo", clock=clock))
        steps: list[story.Step] = []
        for line in lines:
            clock.now = line.at
            steps.append(story.write(store, line))
            if verbose and not as_json:
                view.step(console, steps[-1], story.numbers(steps))
                if console.is_terminal and pause > 0:
                    time.sleep(pause)
        clock.later(1)
        told = story.Story(
            steps=tuple(steps),
            figures=story.figures(store, steps),
            conflicts=store.conflicts(),
            answer=story.ask(store, story.QUESTION),
            taken_back=story.take_back(store, steps, clock),
            embedder=store.stats().embedder,
        )
    if as_json:
        console.out(record.as_json(told, db), highlight=False)
    else:
        view.ending(console, told, db=db, program=_program(), verbose=verbose)
    return 0


def _fresh(db: str) -> Path:
    path = Path(db)
    if path.exists():
        raise StorePathError(
            "the file exists", where=str(path), todo="Name a file that does not exist; the demo creates it"
        )
    return path


def _temporary(stack: ExitStack) -> Path:
    # Windows may still hold the file for a moment; a leftover in the temporary folder is no error.
    folder = stack.enter_context(TemporaryDirectory(prefix="wellkept-demo-", ignore_cleanup_errors=True))
    return Path(folder) / "month.db"


def _program() -> str:
    """How the reader can call this program again: by its name, or by its path when it was `make` that knew it."""
    called = Path(sys.argv[0])
    return str(called) if called.stem == _NAME and shutil.which(_NAME) is None else _NAME
