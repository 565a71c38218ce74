"""The command line's side: hand a command to a daemon if there is one that can take it, else say that there is none.

What goes wrong before the daemon begins is no error: the process does the work itself, as without a daemon. A command
begins only after the daemon offered to and this side agreed, so none is done twice.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

TYPE_CHECKING = False  # as in `wellkept`: importing `typing` takes long

if TYPE_CHECKING:
    import socket

SERVED = frozenset(
    {
        "remember", "check", "revise", "record", "record-turn", "episode start", "episode end",
        "recall", "get", "list", "history", "journal", "neighbors", "subgraph", "stats", "namespaces", "kinds", "pack",
        "questions", "conflicts", "resolve", "supersede", "forget", "restore", "split", "undo", "link", "unlink",
        "queue list", "queue remember",
        "hook session-start", "hook session-end", "hook pre-compact", "hook take-in",
    }
)  # fmt: skip
"""The commands a daemon runs: they are short and ask nothing. It declines others, and what it does not know."""
VALUED = frozenset({"--db", "--namespace", "--embedder", "--policy", "--actor", "--durability"})
"""Options before a command that take a value."""
_PLAIN = frozenset({"--json", "--quiet", "-q"})
_HELP = frozenset({"--help", "-h"})
OFFER, AGREED = b"+", b"!"
PATIENCE = 0.5
"""Seconds to wait for an offer."""
_LOST = (
    "error: the daemon ended before the command did. What it stored is whole, and `wellkept journal` shows it; "
    "WELLKEPT_DAEMON=off works without a daemon\n"
)


def handed_over(arguments: Sequence[str]) -> int | None:
    """The exit code of a command that a daemon ran; None if this process is to run it.

    Args:
        arguments: The words after the program name.
    """
    if not is_served(arguments):
        return None
    from wellkept.cli.daemon import environment

    switch = environment.switch()
    if switch == "off" or environment.completes() or not _has_streams():
        return None
    from wellkept.cli.daemon import place

    if not place.offered():
        return None
    try:
        connection = _connected()
    except OSError:
        if switch == "auto" or command_of(arguments).startswith("hook "):  # an agent asks again soon
            from wellkept.cli.daemon.starting import start_unwaited

            start_unwaited()
        return None
    if connection is None:
        return None
    with connection:
        return _run(connection, arguments)


def is_served(arguments: Sequence[str]) -> bool:
    """Whether these words are a command that a daemon runs.

    Example:
        >>> is_served(["--db", "a.db", "recall", "tea"]), is_served(["serve"]), is_served(["recall", "--help"])
        (True, False, False)
    """
    return _HELP.isdisjoint(arguments) and command_of(arguments) in SERVED


def command_of(arguments: Sequence[str]) -> str:
    """The command among these words, of a group of commands with its name; empty if there is none.

    Example:
        >>> command_of(["--db", "a.db", "recall", "tea"]), command_of(["hook", "session-end"])
        ('recall', 'hook session-end')
    """
    words = iter(arguments)
    for word in words:
        if word in VALUED:
            next(words, None)
        elif not (word in _PLAIN or word.startswith("--") and word.partition("=")[0] in VALUED):
            return word if word in SERVED else f"{word} {next(words, '')}".rstrip()
    return ""


def request(kind: bytes, *fields: bytes) -> bytes:
    """A message to a daemon: its length, then what is asked, then who asks, then the fields."""
    from wellkept.cli.daemon import place

    body = b"\0".join((kind, place.identity(), *fields))
    return len(body).to_bytes(4, "big") + body


def connect(path: str, *, patience: float | None = None) -> socket.socket:
    """A connection to the daemon at a socket.

    Args:
        path: The socket.
        patience: Seconds to wait for the connection and for each answer; `PATIENCE` when None.

    Raises:
        OSError: There is none, or it is not to be trusted.
    """
    import socket

    from wellkept.cli.daemon import place

    if reason := place.mistrusted(os.path.dirname(path)) or place.mistrusted(path, socket_file=True):
        raise PermissionError(reason)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(PATIENCE if patience is None else patience)
        connection.connect(path)
        if not place.peer_is_us(connection):
            raise PermissionError("the daemon runs as another user")
    except OSError:
        connection.close()
        raise
    return connection


def _has_streams() -> bool:
    """Whether all three streams are the process's own, so that a daemon can use them in its place."""
    try:
        return [stream.fileno() for stream in (sys.stdin, sys.stdout, sys.stderr)] == [0, 1, 2]
    except (AttributeError, OSError, ValueError):  # closed, or replaced by the program that calls
        return False


def _connected() -> socket.socket | None:
    """A connection to this installation's daemon; None if there is one that does not answer.

    Raises:
        OSError: There is none.
    """
    from wellkept.cli.daemon import place

    try:
        return connect(place.socket_path())
    except TimeoutError:
        return None


def _run(connection: socket.socket, arguments: Sequence[str]) -> int | None:
    """Hand the command over, pass signals on, and wait for its end."""
    import socket

    from wellkept.cli.daemon import environment

    streams = (sys.stdin, sys.stdout, sys.stderr)
    try:
        variables = environment.sent()
        message = request(
            b"run",
            os.fsencode(os.getcwd()),
            str(_umask()).encode(),
            *(f"{stream.encoding}:{stream.errors}".encode() for stream in streams),
            str(len(variables)).encode(),
            *variables,
            *map(os.fsencode, arguments),
        )
        connection.sendall(message)
        if connection.recv(1) != OFFER:
            return None
        connection.settimeout(None)
        # Not before: streams that wait in the socket of a daemon that hangs would stay open for whoever reads them.
        socket.send_fds(connection, [AGREED], [0, 1, 2])
    except OSError:
        return None  # nothing has begun
    with _signals_go_to(connection):
        try:
            told = connection.recv(1)
        except OSError:
            told = b""
    if not told:
        sys.stderr.write(_LOST)
        return 1
    return told[0]


@contextmanager
def _signals_go_to(connection: socket.socket) -> Iterator[None]:
    """Pass Ctrl-C and a request to end on to the command; an end of this process ends it too."""

    def pass_on(number: int, frame: FrameType | None) -> None:
        try:
            connection.send(bytes([number]))
        except OSError:
            pass  # it has ended

    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _umask() -> int:
    """The rights that new files lack; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
