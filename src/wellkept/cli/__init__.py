"""The command line: `wellkept …`; see `app` for the commands and `exits` for the exit codes."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

_INTERRUPTED = 128 + signal.SIGINT
_OBJECTS = 200_000
"""New objects until the garbage collector looks for cycles; modules make many, and none of them becomes garbage."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        arguments: The words after the program name; those of the process by default.
    """
    with _cleaning_up():
        try:
            if arguments is None:
                from wellkept.cli.daemon.handover import handed_over, is_served

                done = handed_over(sys.argv[1:])
                if done is not None:
                    return done
                if is_served(sys.argv[1:]):
                    from wellkept.cli.daemon.environment import compute_in_one_thread

                    compute_in_one_thread()
            gc.set_threshold(_OBJECTS)
            from wellkept.cli.app import app
            from wellkept.cli.terminal.session import flush_output
        except KeyboardInterrupt:  # while modules are loaded; later the application handles it
            sys.stderr.write("Interrupted\n")
            return _INTERRUPTED
        try:
            app(args=None if arguments is None else list(arguments), prog_name="wellkept")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if code == _INTERRUPTED:
            sys.stderr.write("Interrupted\n")
        if arguments is None:
            gc.freeze()  # the process ends: looking through all its objects for cycles takes long and frees nothing
        return flush_output(code)


@contextmanager
def _cleaning_up() -> Iterator[None]:
    """Turn SIGTERM into an ordinary exit: temporary files are removed, and no half-done change is stored."""
    usual = signal.getsignal(signal.SIGTERM)
    if current_thread() is not main_thread() or usual is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _terminated(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
