"""What the daemon reads of the environment, and what goes to it: settings, not all that a shell holds.

Handing a command over happens before any setting is read, and must import nothing, so `config` cannot read this.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

SWITCH = "WELLKEPT_DAEMON"
"""`off`: no daemon; `auto`: one is started when a command could have used it; else one that runs is used."""
_PREFIXES = ("WELLKEPT_", "CLAUDE_PROJECT_DIR", "XDG_", "LC_", "PG", "KRB5", "SSL", "PYTHON", "TTY_")
_NAMES = frozenset(
    "COLORTERM COLUMNS FORCE_COLOR GITHUB_ACTIONS HOME JUPYTER_COLUMNS JUPYTER_LINES LANG LANGUAGE LINES LOGNAME NETRC "
    "NO_COLOR OMP_NUM_THREADS PATH PY_COLORS TEMP TERM TERMINAL_WIDTH TMP TMPDIR TZ UNICODE_VERSION USER".split()
)


def switch() -> str:
    """`off`, `auto`, or whatever else is set."""
    return os.environ.get(SWITCH, "")


def runtime_folder() -> str:
    """The user's folder for sockets; empty when none is named."""
    return os.environ.get("XDG_RUNTIME_DIR", "")


def of_the_interpreter() -> list[str]:
    """What changes how Python itself works: a daemon with another such environment is another daemon."""
    return sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("PYTHON"))


def completes() -> bool:
    """Whether a shell asks for completions, which is no command."""
    return any(name.endswith("_COMPLETE") for name in os.environ)


def sent() -> list[bytes]:
    """The variables that a command may read, as NAME=VALUE."""
    return [os.fsencode(f"{name}={value}") for name, value in os.environ.items() if _goes_along(name)]


def replaced(variables: Iterable[bytes]) -> None:
    """Make these NAME=VALUE the environment of this process."""
    os.environ.clear()
    for variable in variables:
        name, _, value = os.fsdecode(variable).partition("=")
        os.environ[name] = value


def alone(folder: str, relation_model: str) -> None:
    """An environment without anybody's settings, in which a process warms up."""
    kept = [variable for variable in sent() if not variable.startswith((b"WELLKEPT_", b"XDG_", b"HOME="))]
    places = [f"{name}={folder}" for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")]
    replaced([*kept, *map(os.fsencode, (*places, f"WELLKEPT_RELATION_MODEL={relation_model}"))])


def for_the_daemon() -> dict[str, str]:
    """The environment in which a daemon is started; a process that forks has no threads for arithmetic."""
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


def _goes_along(name: str) -> bool:
    return name in _NAMES or name.startswith(_PREFIXES) or name.lower().endswith("_proxy")


def compute_in_one_thread() -> None:
    """Let numpy start without threads, unless the environment says otherwise: in a short command they mostly wait."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
