"""The question at the end of an answer to `remember`: at most one, and none for a session that answers none.

It is the question about the text just written, else the best open one of the same writer, those shown least often
first. What was shown is forgotten with the process: it decides only whether an agent is bothered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from wellkept.errors import StorageError

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

MOST_UNANSWERED = 20
"""Questions shown in a session without an answer, after which none is shown."""
MOST_SESSIONS = 1_000
"""Sessions that are known at once; the one not used for longest is forgotten."""


@dataclass(slots=True)
class _Session:
    """How often each open question was shown, and how many since the last answer."""

    times: Mapping[str, int] = field(default_factory=dict)
    unanswered: int = 0


class ShownQuestions:
    """The questions that each session of a server was shown."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str, str], _Session] = OrderedDict()
        self._lock = Lock()

    def after_write(self, store: MemoryStore, own: str) -> str:
        """The question to show after a write, as text; empty for none.

        Args:
            store: The store of the call.
            own: Id of the question about the write; empty if there is none.
        """
        from wellkept.core.asking.question_text import after_write
        from wellkept.engine.asking.by_writer import questions_by_writer

        session = self._session(store)
        if session.unanswered >= MOST_UNANSWERED:
            return ""
        try:
            found = questions_by_writer(store._ctx)
        except StorageError:  # the write is done, and the question stays in the list
            return ""
        with self._lock:
            times = {one.id: session.times.get(one.id, 0) for one in found}
            if not found:
                return ""
            chosen = min(found, key=lambda one: (one.id != own, times[one.id]))  # the first of equals is the best
            session.times = {**times, chosen.id: times[chosen.id] + 1}
            session.unanswered += 1
        return after_write(chosen)

    def answered(self, store: MemoryStore) -> None:
        """Note that the session has answered a question."""
        self._session(store).unanswered = 0

    def _session(self, store: MemoryStore) -> _Session:
        ctx = store._ctx
        key = (ctx.namespace, ctx.actor, ctx.session)
        with self._lock:
            found = self._sessions.setdefault(key, _Session())
            self._sessions.move_to_end(key)
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
            return found
