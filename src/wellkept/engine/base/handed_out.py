"""Texts handed out by packs, remembered by session, so that their echo is not stored as a new memory.

Kept in this process only, as hashes, and bounded: the newest sessions, and the newest texts of each. A text
that was dropped from this list, or handed out by another process, is judged like any other.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from wellkept.core.records.merge import segments
from wellkept.core.text.forms import canonical_hash
from wellkept.types import Memory

MAX_SESSIONS = 256
MAX_TEXTS = 2_000
"""Maximum number of texts per session; about 200 packs of ten."""


class Handed:
    """Texts handed out, by namespace and session; thread-safe.

    Example:
        >>> from datetime import UTC, datetime
        >>> day = datetime(2026, 3, 1, tzinfo=UTC)
        >>> handed = Handed()
        >>> told = Memory(id="m1", namespace="n", content="Use ruff.", created_at=day, updated_at=day)
        >>> handed.note("n", "chat", [told])
        >>> handed.ids("n", "chat", "use RUFF"), handed.ids("n", "another", "use RUFF")
        (('m1',), ())
    """

    def __init__(self, *, sessions: int = MAX_SESSIONS, texts: int = MAX_TEXTS) -> None:
        self._lock = threading.Lock()
        self._most = (sessions, texts)
        self._sessions: OrderedDict[tuple[str, str], OrderedDict[tuple[str, str], None]] = OrderedDict()

    def note(self, namespace: str, session: str, memories: Iterable[Memory]) -> None:
        """Record memories handed out to a session; without a session name nothing is recorded."""
        if not session:
            return
        # An evolved memory may be echoed as a whole, or as one of its texts.
        marks = [(canonical_hash(text), row.id) for row in memories for text in (row.content, *segments(row))]
        with self._lock:
            told = self._sessions.setdefault((namespace, session), OrderedDict())
            self._sessions.move_to_end((namespace, session))
            for mark in marks:
                told[mark] = None
                told.move_to_end(mark)
            while len(told) > self._most[1]:
                told.popitem(last=False)
            while len(self._sessions) > self._most[0]:
                self._sessions.popitem(last=False)

    def ids(self, namespace: str, session: str, text: str) -> tuple[str, ...]:
        """Ids of memories handed out to this session with this text, in any spelling; newest first."""
        with self._lock:
            told = tuple(self._sessions.get((namespace, session), ())) if session else ()
        digest = canonical_hash(text) if told else ""
        return tuple(of for mark, of in reversed(told) if mark == digest)
