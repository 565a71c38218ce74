"""The one place where something is run again: what failed for a passing reason, for a while, with growing pauses.

A server restarts, a standby takes over, two transactions meet in a circle: the backend says that nothing of the
transaction was kept (`StorageError.transient`), and the whole decision is taken anew from what is stored then,
never half of one. Whether a commit arrived that nobody answered is asked here too: the backend knows how to
ask, and this module when to ask again.
"""

from __future__ import annotations

import inspect
import logging
import random
import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from wellkept.engine.models.unanswered import until_answered
from wellkept.errors import StorageError
from wellkept.storage.port import Recovering, Storage, Tx

if TYPE_CHECKING:
    from wellkept.engine.base.context import Context

log = logging.getLogger("wellkept")

_P = ParamSpec("_P")
_T = TypeVar("_T")
_C = TypeVar("_C", bound=type[Any])

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 2.0
_AS_IS = frozenset({"close", "in_namespace", "in_session", "deferred"})
"""Verbs that end something or give something back that has verbs of its own."""


class Patience:
    """How long, and with which pauses, something is run again.

    Args:
        seconds: From the first failure to the beginning of the last try.
        now: Seconds that only grow.
        sleep: Waits so many seconds.
        chance: From 0 to 1, so that many who failed together do not come back together.

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

    def __init__(
        self,
        seconds: float,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.seconds = seconds
        self._now = now
        self._sleep = sleep
        self._chance = chance

    def insist(self, act: Callable[[], _T], *, kept: Callable[[], int] = int) -> _T:
        """Run it until it does not fail for a passing reason, or for too long.

        Args:
            act: What to run; it begins anew each time.
            kept: Counts what no second run could take back. Once it has grown, a failure is the caller's.

        Raises:
            StorageError: The last failure, no longer `transient`: nobody further out runs it again.
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
                now = self._now()
                until = now + self.seconds if until is None else until
                pause = next(pauses)
                if kept() != before or now + pause > until:
                    error.transient = False
                    raise
                log.debug("Trying again in %.2f s: %s", pause, error)
            self._sleep(pause)

    def _pauses(self) -> Iterator[float]:
        pause = FIRST_PAUSE
        while True:
            yield pause * (0.5 + self._chance() / 2)
            pause = min(2 * pause, LONGEST_PAUSE)


def made_patient(storage: Storage) -> None:
    """Let a backend that can lose its connection ask again, with pauses, what became of a commit."""
    if isinstance(storage, Recovering):
        storage.insist = Patience(storage.busy_seconds).insist


def repeated(ctx: Context, act: Callable[[], _T]) -> _T:
    """Run part of a verb that begins anew each time, such as a transaction with all that leads to it."""
    storage = ctx.storage
    # Each verb passes here, and to ask for all of a protocol takes as long as a short verb.
    if hasattr(storage, "commits") and isinstance(storage, Recovering):
        return storage.insist(act, kept=storage.commits)
    return act()


def writing(ctx: Context, act: Callable[[Tx], _T]) -> _T:
    """Run a decision in a transaction that writes; anew after the models were asked for what it lacks."""

    def run() -> _T:
        with ctx.storage.begin(ctx.namespace, write=True) as tx:
            return act(tx)

    return until_answered(run)


def whole(act: Callable[Concatenate[Context, _P], _T]) -> Callable[Concatenate[Context, _P], _T]:
    """Make part of a verb, one transaction with all that leads to it, one that is `repeated` by itself."""

    @wraps(act)
    def run(ctx: Context, /, *args: _P.args, **named: _P.kwargs) -> _T:
        return repeated(ctx, lambda: act(ctx, *args, **named))

    return run


def steady(verbs: _C) -> _C:
    """Make every public verb of a class one that is run again when nothing of it was kept.

    A verb that has committed something already is not run again as a whole: what it does in several
    transactions it repeats itself, one by one. Nor is one that was given an iterator: it would find it used up.
    """
    for name, verb in inspect.getmembers(verbs, inspect.isfunction):
        if not name.startswith("_") and name not in _AS_IS:
            setattr(verbs, name, _steadied(verb))
    return verbs


def _steadied(verb: Callable[..., _T]) -> Callable[..., _T]:
    @wraps(verb)
    def run(self: Any, *args: Any, **named: Any) -> _T:
        if any(isinstance(given, Iterator) for given in (*args, *named.values())):
            return verb(self, *args, **named)
        return repeated(self._ctx, lambda: verb(self, *args, **named))

    return run
