"""Background flush of the queues of idle sessions while a server runs.

A session may have ended, its agent may have died, or it may not know that it has to flush its queue.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from wellkept.engine.base.background import running
from wellkept.operations.queued_writes import flush_left

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

log = logging.getLogger("wellkept")

_LONGEST_PAUSE = 30.0


@contextmanager
def flushing(store: MemoryStore, *, after: float) -> Iterator[None]:
    """Flush the queues of idle sessions in a background thread until the block ends.

    Of several servers on one store, one at a time does this. A write that fails stays in the queue and is retried
    with doubling delays, five times in all.

    Args:
        store: A store bound to any namespace.
        after: Seconds since the last queued write of a session; 0 to turn this off.
    """
    if not after:
        yield
        return
    with running(partial(_flush, store, after), name="wellkept-flushing"):
        yield


def _flush(store: MemoryStore, after: float, ended: threading.Event) -> None:
    pause = min(after / 4, _LONGEST_PAUSE)
    logged = ""
    while not ended.wait(pause):
        trouble = flush_left(store, idle=timedelta(seconds=after), ended=ended.is_set)
        if trouble and trouble != logged:  # the same problem is logged once
            log.warning("%s", trouble)
        logged = trouble
