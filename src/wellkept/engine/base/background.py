"""Work beside a block: a thread that runs until the block ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def running(work: Callable[[threading.Event], None], *, name: str) -> Iterator[None]:
    """Run work in a thread until the block ends, and wait for its end.

    Args:
        work: What to run; it returns soon after the event is set.
        name: Of the thread, for logs and debuggers.

    Example:
        >>> with running(lambda ended: None if ended.wait(9) else None, name="wellkept-example"):
        ...     pass
    """
    ended = threading.Event()
    thread = threading.Thread(target=work, args=(ended,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
