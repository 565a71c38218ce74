"""The commands `daemon start`, `daemon stop` and `daemon status`."""

from __future__ import annotations

import time
from collections.abc import Callable

from wellkept.cli.daemon import environment, place, starting
from wellkept.cli.daemon.handover import connect, request
from wellkept.cli.terminal.groups import option
from wellkept.cli.terminal.session import Session
from wellkept.errors import WellkeptError

_WITHIN = 20.0
"""Seconds that a daemon may take to get ready, or to end."""
_PATIENCE = 10.0
"""Seconds to wait for an answer: on a busy machine a daemon answers late. One that has ended is noticed at once."""
_KEYS = ("pid", "seconds", "idle_minutes", "embedder")


def start(
    run: Session,
    *,
    idle: float = option(
        "--idle",
        default=starting.IDLE_MINUTES,
        metavar="MINUTES",
        min=0.01,
        max=7 * 1440.0,
        help="End when unused for this long.",
    ),
) -> None:
    """Start the daemon of this installation, if none runs; later commands find it by themselves."""
    _require()
    if _state() is None:
        told = starting.start(idle)
        if told not in (starting.READY, starting.RUNNING):
            raise WellkeptError(f"the daemon cannot start: {told}", where=place.socket_path(), todo="Correct that")
        _until(lambda: _state() is not None, "the daemon does not answer", where=place.socket_path())
    status(run)


def stop(run: Session) -> None:
    """End the daemon; commands that it runs are finished."""
    _require()
    before = _state()
    if before is not None:
        _asked(b"stop")
        _until(lambda: _state() is None, "the daemon does not end", where=f"process {before['pid']}")
    run.show({"stopped": before is not None}, lambda: ["Stopped" if before else "No daemon runs"])


def status(run: Session) -> None:
    """Show whether a daemon of this installation runs."""
    _require()
    state = _state()
    running = {"running": state is not None, "socket": place.socket_path(), **(state or {})}
    if state is None:
        run.show(running, lambda: ["No daemon runs"])
        return
    run.show(
        running,
        lambda: [
            f"The daemon runs: process {state['pid']}, for {state['seconds']} s, "
            f"embedder {state['embedder']}. It ends after {state['idle_minutes']:g} minutes unused",
            *([f"Commands do not use it: {environment.SWITCH} is off"] if environment.switch() == "off" else []),
        ],
    )


def _until(so: Callable[[], bool], what: str, *, where: str) -> None:
    """Wait until it is so.

    Raises:
        WellkeptError: It takes too long.
    """
    end = time.monotonic() + _WITHIN
    while not so():
        if time.monotonic() > end:
            raise WellkeptError(what, where=where, todo="Wait, or end its process")
        time.sleep(0.02)


def _require() -> None:
    if not place.offered():
        raise WellkeptError(
            "a daemon needs Unix domain sockets and fork, which this system lacks",
            where="daemon",
            todo="Commands work without one; programs that ask often can use `wellkept serve`",
        )


def _state() -> dict[str, str | float] | None:
    """What the daemon says about itself; None when none answers."""
    told = _asked(b"status").decode("utf-8", "replace").split("\0")
    if len(told) != len(_KEYS):
        return None
    return {
        key: word if key == "embedder" else float(word) if key == "idle_minutes" else int(word)
        for key, word in zip(_KEYS, told, strict=True)
    }


def _asked(kind: bytes) -> bytes:
    """What the daemon answers; nothing when there is none."""
    try:
        with connect(place.socket_path(), patience=_PATIENCE) as connection:
            connection.sendall(request(kind))
            parts = []
            while part := connection.recv(4096):
                parts.append(part)
            return b"".join(parts)
    except TimeoutError as error:
        raise WellkeptError(
            "the daemon does not answer", where=place.socket_path(), todo="Try again, or end its process"
        ) from error
    except OSError:
        return b""
