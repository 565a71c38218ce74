"""While a server runs: writes that a conversation has put off and left are written by and by.

The conversation may have ended, its agent may have died, or nobody knows that the queue has to be flushed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from wellkept.operations.queued_writes import flush_left

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

log = logging.getLogger("wellkept")

_LONGEST_PAUSE = 30.0


@contextmanager
def flushing(store: MemoryStore, *, after: float) -> Iterator[None]:
    """Until the block ends, write in a thread of its own what has been left in any queue of the store.

    Of several servers on one store one at a time does it. What cannot be written stays listed, and is tried
    again after twice as long, five times in all.

    Args:
        store: Of any namespace.
        after: Seconds after the last write of a conversation; 0 to write nothing by itself.
    """
    if not after:
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_flush, args=(store, after, ended), name="wellkept-flushing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _flush(store: MemoryStore, after: float, ended: threading.Event) -> None:
    pause = min(after / 4, _LONGEST_PAUSE)
    told = ""
    while not ended.wait(pause):
        trouble = flush_left(store, idle=timedelta(seconds=after), ended=ended.is_set)
        if trouble and trouble != told:  # the same one is not said again and again
            log.warning("%s", trouble)
        told = trouble
