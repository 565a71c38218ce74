"""A lease in a queue of jobs: the queue's clock decides, and the workers of the queue never meet its rows (D2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from wellkept.engine.base.context import Uuid7
from wellkept.engine.upkeep.job_queue import KeptJobs, Page
from wellkept.engine.upkeep.queue_lease import QueueLease
from wellkept.errors import StorageError
from wellkept.testing.clock import FrozenClock
from wellkept.types.jobs import Cadence


class Elsewhere(KeptJobs):
    """A queue with a clock that is no process's, and with namespaces in which something changed."""

    def __init__(self) -> None:
        kept: Page = {}

        @contextmanager
        def page() -> Iterator[Page]:
            yield kept

        self.clock = FrozenClock()
        super().__init__(page, heads=lambda: {"default": 5, "acme": 5}, clock=self.clock)


@pytest.fixture
def queue() -> Elsewhere:
    return Elsewhere()


def holder(queue: Elsewhere, *, days: float = 0.0) -> QueueLease:
    """One on a machine whose clock is so many days ahead."""
    clock = FrozenClock()
    clock.advance(days=days)
    return QueueLease(queue, clock=clock, new_id=Uuid7())


@pytest.mark.parametrize("days", [-3.0, 0.0, 3.0])
def test_clocks_of_machines_have_no_say_in_what_is_due(queue: Elsewhere, days: float) -> None:
    """Ages are the same on each machine, however wrong its clock is."""
    one, two = holder(queue), holder(queue, days=days)
    one.take()
    one.advance("sweep default", one._clock() + timedelta(days=9))
    one.release()
    queue.clock.advance(hours=1)
    two._clock.advance(hours=1)  # type: ignore[attr-defined]
    assert two.take() == ""
    assert two._clock() - two.ran()["sweep default"] == timedelta(hours=1)


def test_a_machine_with_a_wrong_clock_takes_nobody_elses_lease(queue: Elsewhere) -> None:
    one, two = holder(queue), holder(queue, days=30)
    assert one.take() == ""
    assert "held by" in two.take()


def test_a_lease_that_another_one_held_to_its_end_is_lost_too(queue: Elsewhere) -> None:
    """No lease is held when the sleeping process wakes, but its view of the schedule is outdated."""
    one, two = holder(queue), holder(queue)
    one.take()
    queue.clock.advance(seconds=one.seconds + 1)
    assert two.take() == ""
    two.release()
    assert "meanwhile" in one.take()
    assert one.take() == "", "and it may begin anew"


def test_a_lease_that_ended_and_that_nobody_took_is_still_its_holders(queue: Elsewhere) -> None:
    one = holder(queue)
    one.take()
    queue.clock.advance(seconds=one.seconds + 1)
    assert one.take() == ""


@pytest.mark.parametrize(
    "name", ["x'; DROP TABLE job; --", "a b", " ran x", "名前", "upkeep", "*", "%s", "\x1b[31m", "z" * 200]
)
def test_what_ran_is_told_by_the_whole_name_whatever_it_is(queue: Elsewhere, name: str) -> None:
    one = holder(queue)
    one.take()
    for job in ("expire", "upkeep"):
        one.advance(f"{job} {name}", one._clock())
    assert one.take() == "", "no name is that of the lease"
    assert sorted(one.ran()) == [f"expire {name}", f"upkeep {name}"]


def test_workers_neither_see_nor_take_nor_retry_what_an_upkeep_keeps_in_their_queue(queue: Elsewhere) -> None:
    one = holder(queue)
    one.take()
    one.advance("sweep default", one._clock())
    one.release()
    one.take()
    assert queue.jobs() == []
    assert queue.claim(["sweep", "upkeep", "ran sweep default"], holder="me", seconds=9) is None
    assert queue.again() == 0
    assert queue.look([Cadence(kind="sweep", changes=1)]) == 2, "what a worker has to do is due whatever an upkeep did"
    assert list(one.ran()) == ["sweep default"]


class Contended(Elsewhere):
    """A queue whose row is locked by statements of others, so that claims skip it."""

    skips = 0

    def claim(self, *args: Any, **asked: Any) -> Any:
        self.skips -= 1
        return None if self.skips >= 0 else super().claim(*args, **asked)


@pytest.mark.parametrize(("skips", "told"), [(1, ""), (6, ""), (1_000, "others take it and give it up at this moment")])
def test_a_row_that_is_locked_for_a_moment_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, skips: int, told: str
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("wellkept.engine.upkeep.queue_lease.time.sleep", waited.append)
    queue = Contended()
    queue.skips = skips
    assert holder(queue).take() == told
    assert sum(waited) < 3, "and not for long"


class Blinking(Elsewhere):
    """A queue that cannot be read for a moment."""

    blinks = 0

    def jobs(self, **asked: Any) -> Any:
        self.blinks -= 1
        if self.blinks == 0:
            raise StorageError("the server is gone")
        return super().jobs(**asked)


def test_a_lost_lease_is_lost_although_nobody_could_be_asked_who_has_it() -> None:
    """Else the next renewal would take it anew, and the sleeper go on with an old schedule."""
    queue = Blinking()
    one, two = holder(queue), holder(queue)
    one.take()
    queue.clock.advance(seconds=one.seconds + 1)
    two.take()
    two.release()
    queue.blinks = 1
    with pytest.raises(StorageError):
        one.take()
    assert one.take() != ""


class Away(Elsewhere):
    """A queue that cannot be reached any more."""

    def finish(self, job: Any, *, seq: int, report: Any) -> bool:
        raise StorageError("the server is gone")


def test_a_lease_that_cannot_be_given_up_spoils_no_work() -> None:
    """It ends by itself."""
    queue = Away()
    one, two = holder(queue), holder(queue)
    one.take()
    one.release()
    assert "held by" in two.take()
    queue.clock.advance(seconds=one.seconds + 1)
    assert two.take() == ""
