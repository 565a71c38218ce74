"""A judge with a time box: one that is late has not answered, and a write waits no longer than that."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from types import TracebackType
from typing import TypeGuard

from wellkept.errors import ModelResponseInvalid, ModelUnavailable
from wellkept.models.port import Judge

SECONDS = 5.0
"""How long one write waits for its judge."""
AT_ONCE = 4
"""Questions under way at a time; a judge that hangs for ever thus keeps four threads, never more."""
_REMEMBERED = 1024


class TimeBoxed:
    """Asks a judge in a thread of its own and waits no longer than the box; itself a `Judge`.

    The thread of a late judge goes on until the judge returns; it does not keep the interpreter alive.
    The newest answers are remembered, so that a `check` and the `remember` after it cost one question
    and agree.

    Args:
        judge: The one that is asked.
        seconds: The box, for all pairs of one write together.

    Example:
        >>> class Yes:
        ...     id = "yes"
        ...     def judge(self, pairs):
        ...         return [1.0 for _ in pairs]
        >>> TimeBoxed(Yes(), seconds=1).judge([("It is open.", "It is shut.")])
        [1.0]
    """

    def __init__(self, judge: Judge, *, seconds: float = SECONDS) -> None:
        self._judge = judge
        self._seconds = seconds
        self._free = threading.BoundedSemaphore(AT_ONCE)
        self._known: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """The judge's own; the name of its class where it has none."""
        return str(getattr(self._judge, "id", type(self._judge).__name__))

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """The judge's answers, in the order of the pairs.

        Raises:
            ModelUnavailable: It is late, or still busy with earlier questions.
            ModelResponseInvalid: It gave more or fewer answers than it was asked for.
            Exception: Whatever the judge itself raised.
        """
        keys = [_key(old, new) for old, new in pairs]
        with self._lock:
            known = {key: self._known[key] for key in keys if key in self._known}
        asked = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
        answers = self._in_time(list(asked.values())) if asked else []
        if len(answers) != len(asked):
            raise ModelResponseInvalid(f"asked about {len(asked)} pairs, got {len(answers)} answers", where=self.id)
        told = dict(zip(asked, answers, strict=True))
        with self._lock:
            self._known.update((key, value) for key, value in told.items() if _is_probability(value))
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return [known.get(key, told.get(key)) for key in keys]

    def _in_time(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        until = time.monotonic() + self._seconds
        if not self._free.acquire(timeout=self._seconds):
            raise ModelUnavailable("the judge is still busy with earlier questions", where=self.id)
        call = _Call(self._judge, pairs, self._free)
        try:
            # A daemon: waiting for somebody's model must not keep a finished program from ending.
            threading.Thread(target=call.run, name="wellkept-judge", daemon=True).start()
        except BaseException:
            self._free.release()
            raise
        if not call.done.wait(max(0.0, until - time.monotonic())):
            raise ModelUnavailable(f"the judge did not answer within {self._seconds:g} s", where=self.id)
        return call.answer()


class _Call:
    """One question under way; what the judge raises is carried to whoever asked."""

    def __init__(self, judge: Judge, pairs: Sequence[tuple[str, str]], free: threading.BoundedSemaphore) -> None:
        self.done = threading.Event()
        self._judge, self._pairs, self._free = judge, pairs, free
        self._told: list[float | None] | None = None
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Ask; in the thread."""
        with self:
            self._told = list(self._judge.judge(self._pairs))

    def answer(self) -> list[float | None]:
        """What it said, in the thread of the asker."""
        if self._failure is not None:
            raise self._failure
        return self._told if self._told is not None else []

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Carry the failure over instead of leaving it to the thread, where nobody would hear of it."""
        if isinstance(failure, Exception):
            self._failure = failure
        elif failure is not None:  # sys.exit() in a judge must not end the program that asked
            self._failure = ModelUnavailable("the judge gave up", where=type(failure).__name__)
        self._free.release()
        self.done.set()
        return True


def timeboxed(judge: Judge) -> TimeBoxed:
    """The judge in the usual time box, unless it has one of its own."""
    return judge if isinstance(judge, TimeBoxed) else TimeBoxed(judge)


def _is_probability(value: object) -> TypeGuard[float]:
    return isinstance(value, float | int) and 0 <= value <= 1


def _key(old: str, new: str) -> bytes:
    """A short stand-in for two texts, so that remembering an answer does not keep the texts."""
    first = old.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(
        len(first).to_bytes(8, "big") + first + new.encode("utf-8", "surrogatepass"), digest_size=16
    ).digest()
