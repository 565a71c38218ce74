"""When the writes that wait are judged: all of them now, or soon after each commit, in a thread."""

from __future__ import annotations

import logging
import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from wellkept.engine.base.background import running
from wellkept.engine.base.context import Context
from wellkept.engine.gate import write
from wellkept.engine.gate.waiting import waiting
from wellkept.engine.upkeep.reembed import check_row
from wellkept.errors import InvalidField, ModelError, WellkeptError
from wellkept.frozen import frozen
from wellkept.types import Filter

log = logging.getLogger("wellkept")

EVERY = 0.2
"""Seconds between two looks for what waits."""
_LONGEST_PAUSE = 30.0


@frozen(kw_only=True)
class Judged:
    """What became of the writes that waited to be judged.

    Attributes:
        judged: How many were judged.
        changed: How many of them became something else than a new memory.
        left: How many still wait.
        outage: Why it ended early; empty when it finished.
    """

    judged: int = 0
    changed: int = 0
    left: int = 0
    outage: str = ""


def judge_waiting(ctx: Context, *, limit: int | None = None) -> Judged:
    """Judge what waits in the namespace, oldest first; an outage ends it with counts instead of an error.

    Example:
        >>> import wellkept
        >>> from wellkept.engine.upkeep.judging_thread import judge_waiting
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     judge_waiting(store._ctx).left
        0
    """
    given: object = limit
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise InvalidField("is no whole number above 0", where="limit", todo="Leave it out for all")
    told = write.judge_waiting(ctx, limit=limit)
    outage, checked = str(told.failure or ""), 0
    for memory_id in told.kept:
        try:
            check_row(ctx, memory_id, Counter())
            checked += 1
        except ModelError as error:
            outage = str(error)
            break
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        left = len(waiting(tx))
    return Judged(judged=told.judged + checked, changed=told.changed + checked, left=left, outage=outage)


@contextmanager
def judging(ctx: Context, *, every: float = EVERY) -> Iterator[None]:
    """Judge what waits in the namespace in a thread, soon after each commit, until the block ends; then once more."""
    given: object = every
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < math.inf:
        raise InvalidField("is no number of seconds above 0", where="every", todo="Use 0.2")
    with running(partial(_judge, ctx, every), name="wellkept-judging"):
        yield


def _judge(ctx: Context, every: float, ended: threading.Event) -> None:
    pause = every
    while True:
        last = ended.wait(pause)
        try:
            trouble = judge_waiting(ctx).outage if _is_waiting(ctx) else ""
        except WellkeptError as error:
            trouble = str(error)
            log.warning("What waits could not be judged: %s", error)
        pause = min(2 * pause, _LONGEST_PAUSE) if trouble else every
        if last:
            return


def _is_waiting(ctx: Context) -> bool:
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        return bool(tx.find(Filter(unchecked=True), limit=1))
