"""What a server logs about its troubles: where and what kind, never a word of what somebody remembers.

Messages of exceptions quote the value that was wrong, and libraries quote requests in their warnings. So
of an exception the type and the places in the code are told, and of a foreign warning where it was given.
What the web server itself says is ours to trust: it speaks of connections and signals.
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
    """Formats a record without anybody's text.

    Example:
        >>> record = logging.LogRecord("mcp.server", logging.WARNING, "a.py", 7, "bad request: %s", ("secret",), None)
        >>> Wordless().format(record)
        'warning: mcp.server, a.py line 7'
    """

    def format(self, record: logging.LogRecord) -> str:
        """One record as text."""
        trusted = record.name.split(".")[0] == _TRUSTED
        what = record.getMessage() if trusted else f"{record.name}, {record.filename} line {record.lineno}"
        lines = [f"{record.levelname.lower()}: {what}"]
        if record.exc_info:
            lines.append(self.formatException(record.exc_info))
        return "\n".join(lines)

    def formatException(self, ei: _Raised) -> str:
        """Places and types of an exception and of what it came from, without their messages."""
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
    """Log warnings of all libraries in this way while the block runs; ours are shown by whoever runs us."""
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
    """A place without the source line, which says nothing that its number does not."""
    return traceback.FrameSummary(frame.filename, frame.lineno, frame.name, lookup_line=False, line="")
