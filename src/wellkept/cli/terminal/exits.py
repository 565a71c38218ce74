"""The exit codes, defined once for the code, the help and the documentation."""

from __future__ import annotations

from collections.abc import Mapping

from wellkept.errors import ConflictError, WellkeptError

OK = 0
ERROR = 1
USAGE = 2
FINDINGS = 3
REFUSED = 4
INTERRUPTED = 130
READER_GONE = 141

MEANINGS: Mapping[int, str] = {
    OK: "done",
    ERROR: "failed; the message says what, where and what to do",
    USAGE: "invalid command line",
    FINDINGS: "done, with findings: a problem (verify, doctor, repair, maintain --once), a job that failed or was held "
    "(work --once) or was given up (jobs list), a rejected line (import, "
    "remember-many), a duplicate or conflict (check --exit-code, conflicts --exit-code), something to clean (audit), "
    "a decision that would differ (replay), a stale or failed action or a forced dry run (consolidate, apply, "
    "reflect, decay), an outage (sweep), a namespace that could not be read (reembed), "
    "a question that stays open (answer --with), a refused answer among several (answer), "
    "what could not be stored (queue flush), what could not be undone (undo --force-except, undo --by)",
    REFUSED: "refused by the policy: not worth keeping, or a conflict under --on-conflict raise",
    INTERRUPTED: "interrupted",
    READER_GONE: "the reader of the output closed it",
}


def code_of(error: WellkeptError) -> int:
    """The exit code of an error."""
    return REFUSED if isinstance(error, ConflictError) else ERROR


def table() -> str:
    """The codes as lines for the help."""
    return "\n\n".join(f"{code}  {meaning}" for code, meaning in MEANINGS.items())
