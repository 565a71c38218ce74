"""A job queue for backends without one: in memory of the process, or in a file next to the store.

It follows the same rules as the database queue. The file is read and written as a whole under a short lock of
the operating system; a single-file store has few namespaces.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from wellkept.core.records.codec import DAMAGE, iso, time_from
from wellkept.core.records.field_types import misfit
from wellkept.engine.base.context import Clock, Context
from wellkept.engine.base.locked_file import locked_file, rewrite
from wellkept.parsing import parsed_json
from wellkept.storage.port import JobQueue, Queueing
from wellkept.types.jobs import WHOLE_STORE, Cadence, QueuedJob, QueueState
from wellkept.types.words import Json

Page: TypeAlias = MutableMapping[tuple[str, str], QueuedJob]
"""Jobs by namespace and kind."""
Heads: TypeAlias = Callable[[], Mapping[str, int]]
"""Returns the number of the newest journal entry of each namespace."""
_TIMES = ("due", "finished")
LONGEST_LEASE = timedelta(hours=1)
"""A lease that ends later than this from now was set by a wrong clock."""


def queue_of(ctx: Context, file: Path | None = None) -> JobQueue:
    """The queue of a store: the backend's own, else one in this file, else one in memory.

    Example:
        >>> import wellkept
        >>> from wellkept.types.jobs import Cadence
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     _ = store.remember("Tea is upstairs.")
        ...     queue = queue_of(store._ctx)
        ...     found = queue.look([Cadence(kind="sweep", changes=1)])
        ...     found, queue.claim(["sweep"], holder="me", seconds=60).namespace
        (1, 'default')
    """
    if isinstance(ctx.storage, Queueing):
        return ctx.storage.queue()

    def heads() -> Mapping[str, int]:
        found = {}
        for name in ctx.storage.header().namespaces:
            with ctx.storage.begin(name, write=False) as tx:
                found[name] = tx.seq
        return found

    kept = _kept_in_process() if file is None else _kept_in(file)
    return KeptJobs(kept, heads=heads, clock=ctx.clock)


class KeptJobs:
    """A queue over a page of jobs; see `storage.port.JobQueue`.

    Args:
        page: Context manager with exclusive access to the page; changes are stored at its end.
        heads: The newest journal entries.
        clock: The time.
    """

    def __init__(self, page: Callable[[], AbstractContextManager[Page]], *, heads: Heads, clock: Clock) -> None:
        self._page = page
        self._heads = heads
        self._clock = clock

    def look(self, cadences: Sequence[Cadence]) -> int:
        """See `JobQueue.look`."""
        heads, now, found = self._heads(), self._clock(), 0
        with self._page() as page:
            for cadence in cadences:
                for name, seq in heads.items():
                    known = page.get((name, cadence.kind))
                    if seq > 0 and _has_become_due(known, cadence, seq, now):
                        found += 1
                        job = known or QueuedJob(namespace=name, kind=cadence.kind, state="due", due=now)
                        page[name, cadence.kind] = replace(job, state="due", due=now, attempts=0, error="")
        return found

    def claim(self, kinds: Sequence[str], *, holder: str, seconds: float, namespace: str = "") -> QueuedJob | None:
        """See `JobQueue.claim`."""
        now = self._clock()
        with self._page() as page:
            # The order of the page decides between jobs due at the same time.
            free = [job for job in page.values() if job.kind in kinds and _is_free(job, now)]
            free = [job for job in free if _is_of(job, namespace)]
            if not free:
                return None
            job = min(free, key=lambda one: one.due)
            taken = replace(
                job,
                state="running",
                due=now + timedelta(seconds=seconds),
                holder=holder,
                turn=job.turn + 1,
                attempts=job.attempts + 1,
                progress="",
            )
            page[job.namespace, job.kind] = taken
        return taken

    def renew(self, job: QueuedJob, *, seconds: float, progress: str = "") -> bool:
        """See `JobQueue.renew`."""
        return self._changed(job, due=self._clock() + timedelta(seconds=seconds), progress=progress)

    def finish(self, job: QueuedJob, *, seq: int, report: Mapping[str, Json]) -> bool:
        """See `JobQueue.finish`."""
        now = self._clock()
        ended = {"holder": "", "attempts": 0, "error": "", "progress": ""}
        return self._changed(job, state="idle", due=now, finished=now, seq=seq, report=dict(report), **ended)

    def leave(self, job: QueuedJob, *, after: float | None = 0.0, error: str = "", counted: bool = True) -> bool:
        """See `JobQueue.leave`."""
        return self._changed(
            job,
            state="failed" if after is None else "due",
            due=self._clock() + timedelta(seconds=after or 0.0),
            holder="",
            progress="",
            error=error[:1_000],
            attempts=job.attempts if counted else max(0, job.attempts - 1),
        )

    def put(self, kind: str, namespaces: Sequence[str]) -> None:
        """See `JobQueue.put`."""
        now = self._clock()
        with self._page() as page:
            for name in namespaces:
                job = page.get((name, kind)) or QueuedJob(namespace=name, kind=kind, state="idle", due=now)
                if job.state in ("idle", "failed"):
                    page[name, kind] = replace(job, state="due", due=now, attempts=0, error="")

    def note(self, kind: str, namespace: str) -> None:
        """See `JobQueue.note`."""
        now = self._clock()
        with self._page() as page:
            job = page.get((namespace, kind)) or QueuedJob(namespace=namespace, kind=kind, state="idle", due=now)
            page[namespace, kind] = replace(
                job, state="idle", due=now, finished=now, holder="", attempts=0, error="", progress=""
            )

    def again(self, *, kinds: Sequence[str] = (), namespace: str = "") -> int:
        """See `JobQueue.again`."""
        now = self._clock()
        with self._page() as page:  # found and changed under one lock, so that no worker takes one in between
            failed = _wanted(page, ("failed",), kinds, namespace)
            for job in failed:
                page[job.namespace, job.kind] = replace(job, state="due", due=now, attempts=0)
        return len(failed)

    def jobs(
        self,
        *,
        states: Sequence[QueueState] = (),
        kinds: Sequence[str] = (),
        namespace: str = "",
        limit: int | None = None,
    ) -> list[QueuedJob]:
        """See `JobQueue.jobs`."""
        with self._page() as page:
            return _wanted(page, states, kinds, namespace)[:limit]

    def _changed(self, job: QueuedJob, **values: Any) -> bool:
        """Change a job if its lease is still held by this worker."""
        with self._page() as page:
            now = page.get((job.namespace, job.kind))
            if now is None or now.state != "running" or now.turn != job.turn:
                return False
            page[job.namespace, job.kind] = replace(now, **values)
            return True


def _wanted(page: Page, states: Sequence[QueueState], kinds: Sequence[str], namespace: str) -> list[QueuedJob]:
    """Jobs with these states, kinds and this namespace (empty: all), sorted by name."""
    return [
        job
        for _, job in sorted(page.items())
        if (not states or job.state in states) and (not kinds or job.kind in kinds) and _is_of(job, namespace)
    ]


def _is_of(job: QueuedJob, namespace: str) -> bool:
    """Whether a namespace filter matches a job; an empty filter matches all namespaces, but not store jobs."""
    return job.namespace == namespace if namespace else job.namespace != WHOLE_STORE


def _has_become_due(known: QueuedJob | None, cadence: Cadence, seq: int, now: datetime) -> bool:
    if known is None or known.finished is None:
        return known is None
    if known.state != "idle":
        return False
    if seq < known.seq or (cadence.changes and seq - known.seq >= cadence.changes):
        return True
    if cadence.every is None or not (cadence.idle or seq != known.seq):
        return False
    return not now - timedelta(seconds=cadence.every) < known.finished <= now


def _is_free(job: QueuedJob, now: datetime) -> bool:
    if job.state == "running":  # a clock that was set back must not block the job forever
        return job.due <= now or job.due - now > LONGEST_LEASE
    return job.state == "due" and job.due <= now


# --------------------------------------------------------------------------------------------
# Storage of a page


def _kept_in_process() -> Callable[[], AbstractContextManager[Page]]:
    held: Page = {}
    alone = threading.Lock()

    @contextmanager
    def page() -> Iterator[Page]:
        with alone:
            yield held

    return page


def _kept_in(path: Path) -> Callable[[], AbstractContextManager[Page]]:
    """A page in a file; a truncated file is read as empty, and then every job is due again."""

    @contextmanager
    def page() -> Iterator[Page]:
        with locked_file(path, what="the jobs") as handle:
            assert handle is not None  # it was waited for
            found = _read(os.read(handle, os.fstat(handle).st_size))
            before = dict(found)
            yield found
            if found != before:
                rewrite(handle, _written(found))

    return page


def _written(page: Page) -> bytes:
    lines = []
    for job in page.values():
        plain = asdict(job)
        plain |= {name: iso(plain[name]) for name in _TIMES if plain[name] is not None}
        lines.append(json.dumps(plain, ensure_ascii=True))
    return "".join(line + "\n" for line in lines).encode()


def _read(text: bytes) -> Page:
    page: Page = {}
    try:
        for line in text.decode("utf-8").splitlines():
            plain = parsed_json(line)
            plain |= {name: time_from(plain[name]) for name in _TIMES if plain[name] is not None}
            if misfit(QueuedJob, plain):
                return {}
            job = QueuedJob(**plain)
            page[job.namespace, job.kind] = job
    except DAMAGE:
        return {}
    return page
