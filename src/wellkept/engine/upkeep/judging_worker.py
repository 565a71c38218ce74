"""A worker in a thread that judges what waits, in all namespaces of a store; for servers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from wellkept.engine.base.background import running
from wellkept.engine.base.context import Context
from wellkept.engine.upkeep.jobs import Settings, chosen, errands
from wellkept.engine.upkeep.worker import Pace, work
from wellkept.errors import NotPermitted
from wellkept.storage.port import JobQueue

log = logging.getLogger("wellkept")


def soon(*, lease: float = 120.0) -> Pace:
    """The timing of a worker that judges a write within a second."""
    return Pace(lease=lease, look=0.5, pause=0.25)


@contextmanager
def judging_everywhere(ctx: Context, queue: Callable[[], JobQueue]) -> Iterator[None]:
    """Judge what waits in a thread until the block ends, if the policy puts judging off; other workers may do so too.

    Args:
        ctx: Of any namespace of the store.
        queue: Gives the job queue of the store; asked only where judging is put off. A login that may not have it
            judges nothing, which is logged.
    """
    if ctx.policy.judging == "now":
        yield
        return
    try:
        jobs = queue()
    except NotPermitted as error:  # a login behind the rules of the database
        log.warning("What waits is judged by a process of the owner: %s", error)
        yield
        return
    with running(partial(_work, ctx, jobs), name="wellkept-judging"):
        yield


def _work(ctx: Context, queue: JobQueue, ended: threading.Event) -> None:
    wanted = chosen(("judge",), among=errands(Settings(later=True)))
    for _ in work(ctx, queue, wanted, stop=ended, pace=soon()):
        pass
