"""One request in a child of the daemon: what is asked, and a command in the caller's place.

The child has the caller's streams, folder, settings and rights of new files, and ends with the command. So a command
sees and leaves what it would without a daemon.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from wellkept.cli.daemon import environment, place
from wellkept.cli.daemon.handover import AGREED, OFFER, is_served
from wellkept.frozen import frozen

Run: TypeAlias = Callable[[Sequence[str]], int]
"""Runs the command of these words and returns its exit code."""
_MOST_BYTES = 8 << 20
_SECONDS = 5.0
"""Seconds that a caller may take to say what it wants."""
_STREAMS = ("stdin", "stdout", "stderr")


@frozen
class Asked:
    """A request as it came.

    Attributes:
        kind: `run`, `stop` or `status`.
        identity: The caller's installation.
        fields: What belongs to it.
    """

    kind: bytes
    identity: bytes
    fields: Sequence[bytes]


class Ending:
    """The end of a child: after everything else that a process does when it ends, its caller is told the exit code."""

    def __init__(self) -> None:
        self.connection: socket.socket | None = None
        self.code = 1  # of an error that nobody foresaw: Python shows it and ends
        atexit.register(self._tell)  # what is registered first is run last

    def _tell(self) -> None:
        if self.connection is None:
            return  # the daemon itself
        try:
            self.connection.sendall(bytes([self.code & 0xFF]))
        except OSError:
            pass  # the caller is gone
        os._exit(self.code & 0xFF)  # taking the interpreter down would copy memory that is shared with the daemon


def answer(connection: socket.socket, ending: Ending, run: Run, state: Sequence[str]) -> None:
    """Answer one request, in a child of the daemon.

    Args:
        connection: To the caller.
        ending: Tells the caller the exit code.
        run: Runs a command.
        state: What `status` is told.
    """
    connection.settimeout(_SECONDS)
    try:
        words = _words(connection, state)
    except (OSError, ValueError):  # the caller is gone, asks for what is not there, or is none of ours
        words = None
    if words is None:
        os._exit(0)  # a caller that was offered nothing does without a daemon
    _run(connection, ending, run, words)


def _words(connection: socket.socket, state: Sequence[str]) -> list[str] | None:
    """The words of the command that is to be run; None when there is none."""
    asked = _received(connection)
    match asked.kind:
        case b"stop":
            os.kill(os.getppid(), signal.SIGTERM)
            connection.sendall(OFFER)
        case b"status":
            connection.sendall("\0".join(state).encode())
        case b"run":
            return _taken_over(asked, connection)
        case _:
            pass
    return None


def _run(connection: socket.socket, ending: Ending, run: Run, words: Sequence[str]) -> None:
    connection.settimeout(None)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ending.connection = connection
    threading.Thread(target=_signals_of, args=(connection,), name="wellkept-caller", daemon=True).start()
    try:
        ending.code = run(words)
    except KeyboardInterrupt:  # before the command could handle it
        sys.stderr.write("Interrupted\n")
        ending.code = 128 + signal.SIGINT


def _signals_of(connection: socket.socket) -> None:
    """Raise here what the caller is sent; when it is gone, the command ends as if it was asked to."""
    main = threading.main_thread().ident or 0
    while True:
        try:
            told = connection.recv(1)
        except OSError:
            told = b""
        number = told[0] if told else signal.SIGTERM
        if number in (signal.SIGINT, signal.SIGTERM):
            signal.pthread_kill(main, number)  # there, so that a read or a wait is interrupted
        if not told:
            return


def _received(connection: socket.socket) -> Asked:
    """A whole request.

    Raises:
        ValueError: It is none of ours.
    """
    data = connection.recv(1 << 16)
    length = int.from_bytes(data[:4], "big")
    if length > _MOST_BYTES:
        raise ValueError("too long")
    parts, have = [data[4:]], len(data) - 4
    while have < length:
        more = connection.recv(1 << 20)
        if not more:
            raise ValueError("cut off")
        parts.append(more)
        have += len(more)
    kind, identity, *fields = b"".join(parts).split(b"\0")
    return Asked(kind, identity, fields)


def _taken_over(asked: Asked, connection: socket.socket) -> list[str] | None:
    """Take the caller's place when it agrees: its folder, rights, environment and streams.

    Returns:
        The words of its command; None when it is not run here.

    Raises:
        OSError: The folder is not there any more, or the caller is gone.
        ValueError: The request is malformed.
    """
    folder, umask, *rest = asked.fields
    encodings, count, rest = rest[: len(_STREAMS)], int(rest[len(_STREAMS)]), rest[len(_STREAMS) + 1 :]
    words = [os.fsdecode(word) for word in rest[count:]]
    if asked.identity != place.identity() or not is_served(words):
        return None
    os.chdir(folder)
    connection.sendall(OFFER)
    told, files, _, _ = socket.recv_fds(connection, 1, len(_STREAMS))
    if told != AGREED or len(files) != len(_STREAMS):
        return None
    for number, (name, encoding, file) in enumerate(zip(_STREAMS, encodings, files, strict=True)):
        os.dup2(file, number)
        os.close(file)
        _stream(name, number, encoding.decode())
    os.umask(int(umask))
    environment.replaced(rest[:count])
    time.tzset()
    tempfile.tempdir = None
    sys.argv = ["wellkept", *words]
    return words


def _stream(name: str, number: int, encoding: str) -> None:
    """Make a standard stream anew, as Python does at its start."""
    called, _, errors = encoding.partition(":")
    reads = name == "stdin"
    by_line = 1 if name == "stderr" or os.isatty(number) else -1
    stream = open(
        number,
        "r" if reads else "w",
        buffering=-1 if reads else by_line,
        encoding=called,
        errors=errors,
        newline="\n",
        closefd=False,
    )
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)
