"""`wellkept hook`: what a coding agent calls at the start of a session, before it compacts, and at the end.

A hook never fails its agent: what goes wrong is said on standard error, and the exit code is 0. A process of its own
takes the transcript in, so that the agent does not wait for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.cli.daemon.starting import unwaited
from wellkept.cli.install.clients import launcher
from wellkept.cli.terminal import exits
from wellkept.cli.terminal.groups import option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.config import KEYS, hook_log
from wellkept.engine.base.context import utc_now
from wellkept.engine.base.file_lock import lock, unlock
from wellkept.errors import ConfigError, InvalidInput, WellkeptError
from wellkept.frozen import frozen
from wellkept.types.packs import MAX_BUDGET

if TYPE_CHECKING:
    from wellkept.types import ImportReport

_MOST_BYTES = 1 << 20
_LONGEST = 4_096
"""Characters of a text of a call, so that what is handed over is smaller than a call may be."""
_MOST_LOG = 256 << 10
_KEPT_OF_LOG = 64 << 10
_BUDGET = 1_000
_TOLD = (
    "The long-term memory of this project holds the following. Look further with the tool recall; keep what will still "
    "matter in another session with remember."
)
_SENDING = ("db", "embedder", "judge")
"""Settings that may name a machine to which texts are sent."""


@frozen
class Called:
    """What an agent tells a hook.

    Attributes:
        session: The id of the session.
        transcript: The file with the transcript; None if it names none.
    """

    session: str = ""
    transcript: Path | None = None

    @property
    def plain(self) -> str:
        """What a process in the same folder needs of it, as JSON."""
        return json.dumps({"session_id": self.session, "transcript_path": str(self.transcript or "")})


def session_start(
    run: Session,
    *,
    budget: int = option(
        "--budget", "-b", default=_BUDGET, min=1, max=MAX_BUDGET, help="Maximum size of the block, in tokens."
    ),
) -> int:
    """Print what the memory of the project holds, as context of a new session; reads the call on standard input."""
    return _never_failing(run, lambda: _started(run, budget))


def session_end(run: Session) -> int:
    """Take in the transcript of the session that ends, in the background; reads the call on standard input."""
    return _never_failing(run, lambda: _in_background(run))


def pre_compact(run: Session) -> int:
    """Take in the transcript before it is compacted, in the background; reads the call on standard input."""
    return _never_failing(run, lambda: _in_background(run))


def take_in(run: Session) -> int:
    """Take in the transcript that a call on standard input names, now; `hooks.log` says what became of it."""

    def work() -> None:
        called = Called()
        try:
            called = _called()
            report = _taken_in(run, called)
        except (WellkeptError, OSError) as error:
            _log(f"{called.session}: error: {error}")
            raise
        counts = Counter(report.counts)
        said = ", ".join(f"{word} {count}" for word, count in sorted(counts.items())) or "nothing to keep"
        undo = f"; wellkept undo --run {report.run_id}" if set(counts) - {"replayed"} else ""
        _log(f"{called.session}: {said} in {run.settings.namespace}{undo}")
        run.note(said)

    return _never_failing(run, work)


def _never_failing(run: Session, work: Callable[[], None]) -> int:
    """Do it; an error is told, and is no failure of the agent that calls."""
    try:
        work()
    except WellkeptError as error:
        run.fail(error)
    except OSError as error:
        run.fail(WellkeptError(f"the system refuses: {error.strerror}", where=str(error.filename or "hook")))
    return exits.OK


def _called() -> Called:
    """The call on standard input.

    Raises:
        InvalidInput: It is none.
    """
    from wellkept.parsing import parsed_json

    raw = sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise InvalidInput(f"the call is larger than {_MOST_BYTES >> 20} MiB", where="standard input")
    plain = parsed_json(raw, where="standard input", todo="An agent calls this with a JSON object")
    if not isinstance(plain, dict):
        raise InvalidInput("the call is no JSON object", where="standard input")
    folder, transcript, session = (_text(plain, key) for key in ("cwd", "transcript_path", "session_id"))
    if folder and Path(folder).is_dir():
        os.chdir(folder)  # where the settings and the project are looked for
    try:
        path = Path(transcript).expanduser() if transcript else None
    except RuntimeError as error:  # a user that this machine does not know
        raise InvalidInput(f"no such folder: {error}", where="transcript_path") from error
    return Called(session, path)


def _text(plain: Mapping[str, object], key: str) -> str:
    value = plain.get(key)
    if not isinstance(value, str):
        return ""
    if len(value) > _LONGEST:
        raise InvalidInput(f"is longer than {_LONGEST:,} characters", where=key)
    return value


def _started(run: Session, budget: int) -> None:
    from wellkept.engine.recall.overview import overview

    _called()
    _refuse_endpoints_of_projects(run)
    found = overview(run.store(writes=False, model=False)._ctx, budget_tokens=budget)
    if found.text:
        context = f"{_TOLD}\n\n{found.text}"
        said = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}}
        sys.stdout.write(json.dumps(said) + "\n")


def _in_background(run: Session) -> None:
    called = _called()
    if called.transcript is None:
        raise InvalidInput("the call names no transcript", where="transcript_path")
    _hand_over(run, called)


def _hand_over(run: Session, called: Called) -> None:
    """Have another process take the transcript in; it outlives this one and the agent."""
    given = [word for key in KEYS if (value := run.given_option(key)) is not None for word in (f"--{key}", value)]
    process = unwaited([*launcher(), *given, "hook", "take-in"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write(called.plain.encode())


def _taken_in(run: Session, called: Called) -> ImportReport:
    """The statements of the transcript, written through the gate.

    Raises:
        WellkeptError: The transcript or the store cannot be read; nothing is written.
    """
    from wellkept.adapters.transcripts import read, recognise
    from wellkept.engine.ingest.choosing import heard
    from wellkept.engine.ingest.harvest import statements_of, taken_in
    from wellkept.engine.ingest.import_rows import Origin

    _refuse_endpoints_of_projects(run)
    if called.transcript is None:
        raise InvalidInput("the call names no transcript", where="transcript_path")
    if not called.transcript.is_file():
        raise InvalidInput("the transcript is no file", where=str(called.transcript))
    format = recognise(called.transcript)
    said = heard(read(called.transcript, format.name))
    store = run.store()
    return taken_in(store._ctx, statements_of(store._ctx, said, Origin(format=format.name)))


def _refuse_endpoints_of_projects(run: Session) -> None:
    """Refuse to send texts where a file of the project says: nobody has looked at it when a hook runs.

    Raises:
        ConfigError: A file of the project names a machine.
    """
    settings = run.settings
    for key in _SENDING:
        value: str = getattr(settings, key)
        is_elsewhere = value.strip().lower().startswith(("http", "postgres", "placement"))
        if is_elsewhere and settings.origins[key].startswith(("wellkept.toml", "pyproject.toml")):
            raise ConfigError(
                f"hooks send nothing to the {key} that a project's file names",
                where=settings.origins[key],
                todo=f"Name it in your own config.toml, or install the hooks with --{key}",
            )


def _log(words: str) -> None:
    """Add a line to the log of the hooks, of which the newest part is kept."""
    file = hook_log()
    file.parent.mkdir(parents=True, exist_ok=True)
    line = f"{utc_now():%Y-%m-%dT%H:%M:%SZ} {one_line(words, limit=2 * _LONGEST)}\n".encode(errors="backslashreplace")
    with file.open("a+b") as log:
        lock(log.fileno())
        try:
            if os.fstat(log.fileno()).st_size > _MOST_LOG:
                log.seek(-_KEPT_OF_LOG, os.SEEK_END)
                newest = log.read()
                log.truncate(0)
                log.write(newest[newest.find(b"\n") + 1 :])
            log.write(line)
            log.flush()
        finally:
            unlock(log.fileno())
