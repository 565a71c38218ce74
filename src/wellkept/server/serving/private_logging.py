"""Logging without stored texts: the type and location of problems, but no messages.

Messages of exceptions quote invalid values, and libraries quote requests in their warnings. So an exception is
logged with its type and code locations, and a warning of a library with its location. Messages of the web server
itself are logged unchanged: they concern connections and signals.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

_OWN = "wellkept"
_TRUSTED = "uvicorn"

_Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class Wordless(logging.Formatter):
    """Formats a record without any message that could quote a stored text.

    Example:
        >>> record = logging.LogRecord("mcp.server", logging.WARNING, "a.py", 7, "bad request: %s", ("secret",), None)
        >>> Wordless().format(record)
        'warning: mcp.server, a.py line 7'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format one record."""
        trusted = record.name.split(".")[0] == _TRUSTED
        what = record.getMessage() if trusted else f"{record.name}, {record.filename} line {record.lineno}"
        lines = [f"{record.levelname.lower()}: {what}"]
        if record.exc_info:
            lines.append(self.formatException(record.exc_info))
        return "\n".join(lines)

    def formatException(self, ei: _Raised) -> str:
        """Types and code locations of an exception and its causes, without their messages."""
        parts: list[str] = []
        error = ei[1]
        while error is not None and len(parts) < 10:
            places = "".join(
                traceback.format_list([_bare(frame) for frame in traceback.extract_tb(error.__traceback__)])
            )
            parts.append(f"{places}{type(error).__name__}")
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\n".join(parts)


@contextmanager
def wordless() -> Iterator[None]:
    """Log warnings of all libraries in this form while the block runs; Wellkept's own are handled elsewhere."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(Wordless())
    handler.addFilter(lambda record: record.name.split(".")[0] != _OWN)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _bare(frame: traceback.FrameSummary) -> traceback.FrameSummary:
    """A code location without the source line, which adds nothing to its number."""
    return traceback.FrameSummary(frame.filename, frame.lineno, frame.name, lookup_line=False, line="")
