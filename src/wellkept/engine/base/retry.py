"""Retries of transient failures: for a limited time, with growing pauses.

A server restarts, a standby takes over, two transactions deadlock: the backend reports that nothing of the
transaction was kept (`StorageError.transient`), and the whole decision is repeated against the current state,
never half of one. After a commit without an answer, the backend can look up whether it succeeded; this module
decides when to ask.
"""

from __future__ import annotations

import inspect
import logging
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from wellkept.engine.models.unanswered import until_answered
from wellkept.errors import StorageError
from wellkept.frozen import frozen
from wellkept.storage.port import Recovering, Storage, Tx

if TYPE_CHECKING:
    from wellkept.engine.base.context import Context, Watch

log = logging.getLogger("wellkept")

_P = ParamSpec("_P")
_T = TypeVar("_T")
_C = TypeVar("_C", bound=type[Any])

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 2.0
_AS_IS = frozenset({"close", "in_namespace", "in_session", "deferred", "judging"})
"""Verbs that close something, or return an object with its own verbs."""


@frozen
class Patience:
    """How long, and with which pauses, an action is retried.

    Attributes:
        seconds: Maximum time from the first failure to the start of the last attempt.
        now: A monotonic clock, in seconds.
        sleep: Waits this many seconds.
        chance: Random number from 0 to 1, so that callers that failed together do not retry together.

    Example:
        >>> tries = iter([False, True])
        >>> def act():
        ...     if not next(tries):
        ...         error = StorageError("the server was away")
        ...         error.transient = True
        ...         raise error
        ...     return "done"
        >>> Patience(1.0, sleep=lambda seconds: None).insist(act)
        'done'
    """

    seconds: float
    _: KW_ONLY
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def insist(self, act: Callable[[], _T], *, kept: Callable[[], int] = int) -> _T:
        """Run an action until it has no transient failure, or the time is over.

        Args:
            act: The action; it starts from the beginning each time.
            kept: Counts what was committed. Once the count has grown, a failure is raised.

        Raises:
            StorageError: The last failure, no longer `transient`, so that no caller retries it again.
        """
        pauses = self._pauses()
        until: float | None = None
        while True:
            before = kept()
            try:
                return act()
            except StorageError as error:
                if not error.transient:
                    raise
                now = self.now()
                until = now + self.seconds if until is None else until
                pause = next(pauses)
                if kept() != before or now + pause > until:
                    error.transient = False
                    raise
                log.debug("Trying again in %.2f s: %s", pause, error)
            self.sleep(pause)

    def _pauses(self) -> Iterator[float]:
        pause = FIRST_PAUSE
        while True:
            yield pause * (0.5 + self.chance() / 2)
            pause = min(2 * pause, LONGEST_PAUSE)


def made_patient(storage: Storage) -> None:
    """Give a backend that can lose its connection a retry for asking what became of a commit."""
    if isinstance(storage, Recovering):
        storage.insist = Patience(storage.busy_seconds).insist


def repeated(ctx: Context, act: Callable[[], _T]) -> _T:
    """Runs `act`; again from the start if nothing was committed."""
    storage = ctx.storage
    # Every verb passes here, and an isinstance check of a protocol takes as long as a short verb.
    if hasattr(storage, "commits") and isinstance(storage, Recovering):
        return storage.insist(act, kept=storage.commits)
    return act()


def writing(ctx: Context, act: Callable[[Tx], _T]) -> _T:
    """Run a decision in a write transaction; again after the models were asked for missing answers."""

    def run() -> _T:
        with ctx.storage.begin(ctx.namespace, write=True) as tx:
            return act(tx)

    return until_answered(run)


def whole(act: Callable[Concatenate[Context, _P], _T]) -> Callable[Concatenate[Context, _P], _T]:
    """Decorator: runs a function, one transaction with its preparation, through `repeated`."""

    @wraps(act)
    def run(ctx: Context, /, *args: _P.args, **named: _P.kwargs) -> _T:
        return repeated(ctx, lambda: act(ctx, *args, **named))

    return run


def steady(verbs: _C) -> _C:
    """Class decorator: public verbs are watched, and retried when nothing of them was committed.

    A verb that has committed something is not retried as a whole: it retries each of its transactions itself.
    A verb with an iterator argument is not retried either, because the iterator would be used up.
    """
    for name, verb in inspect.getmembers(verbs, inspect.isfunction):
        if not name.startswith("_") and name not in _AS_IS:
            setattr(verbs, name, _steadied(verb))
    return verbs


def _steadied(verb: Callable[..., _T]) -> Callable[..., _T]:
    @wraps(verb)
    def run(self: Any, *args: Any, **named: Any) -> _T:
        watch: Watch | None = self._ctx.watch
        if watch is None:
            return patiently(self, *args, **named)
        return cast("_T", watch(verb.__name__, lambda: patiently(self, *args, **named)))

    def patiently(self: Any, *args: Any, **named: Any) -> _T:
        if any(isinstance(given, Iterator) for given in (*args, *named.values())):
            return verb(self, *args, **named)
        return repeated(self._ctx, lambda: verb(self, *args, **named))

    return run
