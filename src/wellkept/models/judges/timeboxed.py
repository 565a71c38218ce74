"""A time limit for judges: a late judge counts as no answer, and the write does not wait longer."""

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
"""Default time limit of a judge per write."""
AT_ONCE = 4
"""Most concurrent calls; a judge that never returns blocks at most four threads."""
_REMEMBERED = 1024


class TimeBoxed:
    """Calls a judge in a separate thread with a time limit; itself a `Judge`.

    The thread of a late judge runs until the judge returns; it is a daemon thread. Recent answers are cached, so that a
    `check` and the following `remember` make one call and agree.

    Args:
        judge: The wrapped judge.
        seconds: Time limit for all pairs of one write.

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
        """The judge's id; its class name if it has none."""
        return str(getattr(self._judge, "id", type(self._judge).__name__))

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """The judge's answers, in the order of the pairs.

        Raises:
            ModelUnavailable: The judge is late or busy with earlier calls.
            ModelResponseInvalid: The number of answers is wrong.
            Exception: Any error of the judge.
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
            # A daemon thread: a waiting model must not keep the program from exiting.
            threading.Thread(target=call.run, name="wellkept-judge", daemon=True).start()
        except BaseException:
            self._free.release()
            raise
        if not call.done.wait(max(0.0, until - time.monotonic())):
            raise ModelUnavailable(f"the judge did not answer within {self._seconds:g} s", where=self.id)
        return call.answer()


class _Call:
    """One call in progress; errors of the judge are passed to the caller."""

    def __init__(self, judge: Judge, pairs: Sequence[tuple[str, str]], free: threading.BoundedSemaphore) -> None:
        self.done = threading.Event()
        self._judge, self._pairs, self._free = judge, pairs, free
        self._told: list[float | None] | None = None
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Call the judge; runs in the thread."""
        with self:
            self._told = list(self._judge.judge(self._pairs))

    def answer(self) -> list[float | None]:
        """The answers, or the error, for the caller."""
        if self._failure is not None:
            raise self._failure
        return self._told if self._told is not None else []

    def __enter__(self) -> None:
        """No setup needed."""

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Keep the error for the caller instead of losing it in the thread."""
        if isinstance(failure, Exception):
            self._failure = failure
        elif failure is not None:  # sys.exit() in a judge must not end the calling program
            self._failure = ModelUnavailable("the judge gave up", where=type(failure).__name__)
        self._free.release()
        self.done.set()
        return True


def timeboxed(judge: Judge) -> TimeBoxed:
    """The judge with the default time limit, unless it already has one."""
    return judge if isinstance(judge, TimeBoxed) else TimeBoxed(judge)


def _is_probability(value: object) -> TypeGuard[float]:
    return isinstance(value, float | int) and 0 <= value <= 1


def _key(old: str, new: str) -> bytes:
    """A hash of two texts, so that the cache does not hold the texts."""
    first = old.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(
        len(first).to_bytes(8, "big") + first + new.encode("utf-8", "surrogatepass"), digest_size=16
    ).digest()
