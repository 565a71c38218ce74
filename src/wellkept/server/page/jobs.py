"""Jobs: long work that a form began, and how far it is. They are few, and in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from starlette.responses import Response

from wellkept.engine.base.secrets import new_secret
from wellkept.errors import Busy, NotFound, WellkeptError

Tell: TypeAlias = Callable[[str, int, int], None]
"""Says how far the work is: the step, the number done and the total."""
Shown: TypeAlias = Callable[[Any], Response]
"""Shows the result to a visit."""
_AT_ONCE = 4
_KEPT = 20


@dataclass
class Job:
    """One piece of work.

    Attributes:
        title: What is done, in words.
        owner: Session and namespace; nobody else sees the job.
        step / done / whole: How far it is.
        shown: Shows the result; None before the end, and when it failed.
        error: Why it failed.
    """

    title: str
    owner: tuple[str, str]
    step: str = ""
    done: int = 0
    whole: int = 0
    shown: Shown | None = None
    error: WellkeptError | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def tell(self, step: str, done: int, whole: int) -> None:
        """Note how far the work is."""
        self.step, self.done, self.whole = step, done, whole

    def run(self, act: Callable[[Tell], Shown]) -> None:
        """Do the work in this thread; an error of another kind goes to the log of the server."""
        try:
            self.shown = act(self.tell)
        except WellkeptError as error:
            self.error = error
        finally:
            self.ended.set()


@dataclass
class Jobs:
    """The jobs of one server process: those that run, and the newest that ended."""

    kept: dict[str, Job] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, job: Job) -> str:
        """Keep a job; returns its name.

        Raises:
            Busy: Too many run already.
        """
        with self.lock:
            ended = [name for name, one in self.kept.items() if one.ended.is_set()]
            if len(self.kept) - len(ended) >= _AT_ONCE:
                raise Busy("other long work runs already", where="page", todo="Wait until it has ended")
            for name in ended[: max(0, len(self.kept) - _KEPT + 1)]:
                del self.kept[name]
            name = new_secret()
            self.kept[name] = job
        return name

    def running(self, owner: tuple[str, str]) -> dict[str, Job]:
        """The jobs of this owner that run, by name."""
        with self.lock:
            return {name: job for name, job in self.kept.items() if job.owner == owner and not job.ended.is_set()}

    def of(self, name: str, owner: tuple[str, str]) -> Job:
        """A job of this owner.

        Raises:
            NotFound: There is none, or it is no longer kept.
        """
        with self.lock:
            job = self.kept.get(name)
        if job is None or job.owner != owner:
            raise NotFound("this work is not kept here", where="page", todo="What it did is in the journal")
        return job
