"""The daemon itself: it warms up, listens, and forks a child for each command; it stores and reads nothing.

Its children are processes like any command: one that is killed, hangs or fails touches no other, and each opens and
closes its store. The daemon ends when nobody needed it for a while, when its socket is gone, or when told to.
"""

from __future__ import annotations

import fcntl
import gc
import io
import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path

from wellkept.cli.daemon import environment, place
from wellkept.cli.daemon.request import Ending, Run, answer
from wellkept.cli.daemon.starting import READY, RUNNING
from wellkept.config import load
from wellkept.errors import WellkeptError
from wellkept.models.onnx import survive_forks

_MOST_CHILDREN = 32
_BACKLOG = 64
_GLANCE = 5.0
"""Seconds between two looks at whether the socket is still there and children have ended."""
_WARM_UP = (
    ["remember", "The port of the test database is 5433.", "--kind", "fact"],
    ["remember", "The port of the test database is 5434 since Monday.", "--json"],
    ["remember", "Der Port der Testdatenbank ist 5433.", "--kind", "note"],
    ["remember", "Der Port der Testdatenbank ist seit Montag 5434.", "--json"],
    ["recall", "database port"],
    ["recall", "database port", "--json"],
    ["pack", "database port"],
    ["list"],
    ["check", "the port of the test database is 5433"],
)
"""Commands that load what most commands use."""
_TRANSCRIPT = '{"type": "user", "sessionId": "w", "message": {"content": "The port of the test database is 5433 now."}}'
_HOOKS = (["hook", "session-start"], ["hook", "take-in"])
"""Commands that read the call of an agent; for it they are to be quick."""


class _ToldToEnd(BaseException):
    """Raised by the signal that ends the daemon."""


class Daemon:
    """A daemon that listens.

    Args:
        path: Its socket.
        lock: The open file that says that it runs.
        idle_seconds: How long it waits for a command before it ends.
        run: Runs one command.
        ending: Tells a caller the exit code.
        warmed: The embedder that is loaded.
    """

    def __init__(self, path: str, lock: int, *, idle_seconds: float, run: Run, ending: Ending, warmed: str) -> None:
        self._path = path
        self._lock = lock
        self._idle = idle_seconds
        self._run = run
        self._ending = ending
        self._warmed = warmed
        self._children: set[int] = set()
        self._ends = False
        self._begun = self._last = time.monotonic()
        self._listening = _bound(path)
        self._inode = os.lstat(path).st_ino

    def serve(self) -> bool:
        """Fork a child for each request until the end.

        Returns:
            Whether this is a child that has run its command, not the daemon.
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._end)
        try:
            while self._is_needed():
                try:
                    connection, _ = self._listening.accept()
                except TimeoutError:
                    continue
                if self._forked(connection):
                    answer(connection, self._ending, self._run, self._state())
                    return True
        except _ToldToEnd:
            pass
        self._listening.close()
        if self._is_ours():
            os.unlink(self._path)
        return False

    def _is_needed(self) -> bool:
        self._reap()
        if self._children:
            self._last = time.monotonic()
        left = self._last + self._idle - time.monotonic()
        self._listening.settimeout(min(_GLANCE, max(left, 0.01)))
        return left > 0 and not self._ends and self._is_ours()

    def _end(self, number: int, frame: object) -> None:
        self._ends = True  # Python drops what is raised in the hooks that it runs around a fork
        raise _ToldToEnd

    def _is_ours(self) -> bool:
        """Whether the socket is still the one that was made: a folder of run-time files may be cleared."""
        with suppress(OSError):
            return os.lstat(self._path).st_ino == self._inode
        return False

    def _forked(self, connection: socket.socket) -> bool:
        """Whether this is the child, which answers; the daemon goes on."""
        if not place.peer_is_us(connection) or len(self._children) >= _MOST_CHILDREN:
            connection.close()
            return False
        try:
            child = os.fork()
        except OSError:  # no process or memory is left: the caller does without
            connection.close()
            return False
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._listening.close()
            os.close(self._lock)  # or a command that outlives the daemon would keep the next one from starting
            return True
        connection.close()
        self._children.add(child)
        self._last = time.monotonic()
        return False

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while self._children and (ended := os.waitpid(-1, os.WNOHANG)[0]):
                self._children.discard(ended)

    def _state(self) -> list[str]:
        now = time.monotonic()
        return [str(os.getppid()), f"{now - self._begun:.0f}", f"{self._idle / 60:g}", self._warmed]


def main(arguments: Sequence[str], run: Run, ending: Ending) -> int:
    """Be a daemon; says on standard output that it is ready or why it is not.

    Args:
        arguments: Minutes after which it ends when nobody needs it.
        run: Runs one command.
        ending: Tells a caller the exit code.
    """
    path = place.socket_path()
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if reason := place.mistrusted(os.path.dirname(path)):
            return _told(f"{os.path.dirname(path)}: {reason}", 1)
        lock = os.open(path.removesuffix(".sock") + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _told(RUNNING, 0)
        warmed = _warm(run)
        daemon = Daemon(path, lock, idle_seconds=float(arguments[0]) * 60, run=run, ending=ending, warmed=warmed)
    except OSError as error:
        return _told(f"{error.filename or path}: {error.strerror or error}", 1)
    except WellkeptError as error:
        return _told(str(error), 1)
    _told(READY, 0)
    os.chdir("/")
    gc.collect()
    gc.freeze()  # a collection in a child would touch, and so copy, what all share
    return ending.code if daemon.serve() else 0


def _bound(path: str) -> socket.socket:
    """A listening socket; what a daemon that was killed has left is replaced, as the lock says that none runs."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with suppress(FileNotFoundError):
        os.unlink(path)
    before = os.umask(0o177)
    try:
        listening.bind(path)
    finally:
        os.umask(before)
    listening.listen(_BACKLOG)
    return listening


def _warm(run: Run) -> str:
    """Load modules and models, by commands on a store that is thrown away; returns the name of the embedder.

    Models of the user's settings are loaded if they are packaged; no endpoint is asked.
    """
    settings = load()
    packaged = settings.embedder if settings.embedder in ("auto", "minilm") else "hashing"
    survive_forks()
    with tempfile.TemporaryDirectory(prefix="wellkept-") as folder, open(os.devnull, "w") as nowhere:
        environment.alone(folder, settings.relation_model)
        os.chdir(folder)
        with redirect_stdout(nowhere):
            general = ["--db", str(Path(folder) / "warm.db"), "--embedder", packaged, "--quiet"]
            for words in _WARM_UP:
                run([*general, *words])
            call = Path(folder) / "session.jsonl"
            call.write_text(_TRANSCRIPT, encoding="utf-8")
            for words in _HOOKS:
                with _standard_input(json.dumps({"transcript_path": str(call)})):
                    run([*general, *words])
        os.chdir("/")
    return packaged


@contextmanager
def _standard_input(text: str) -> Iterator[None]:
    """A text in the place of standard input."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
    try:
        yield
    finally:
        sys.stdin = before


def _told(words: str, code: int) -> int:
    """Say it to whoever started the daemon, who then need not wait any longer."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return code
