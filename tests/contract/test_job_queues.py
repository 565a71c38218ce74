"""One queue of jobs, kept in three places: the same answers in the process, a file and a database (issue 7 §6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

import wellkept
from wellkept.engine.upkeep.job_queue import queue_of
from wellkept.errors import InvalidField
from wellkept.storage.port import JobQueue
from wellkept.testing.clock import CountingIds, FrozenClock
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types.jobs import WHOLE_STORE, Cadence, QueuedJob

TIDY = Cadence(kind="tidy", changes=3, every=3_600.0)
FADE = Cadence(kind="fade", every=3_600.0, idle=True)


@dataclass
class Yard:
    """A store with its queue, and a way to let time pass."""

    store: wellkept.MemoryStore
    clock: FrozenClock
    url: str
    file: Path | None
    said: int = 0

    @property
    def queue(self) -> JobQueue:
        """The queue; another object each time, as another process would have it where it is kept outside."""
        return queue_of(self.store._ctx, self.file)

    def say(self, times: int, namespace: str = "default") -> None:
        """Write so many entries."""
        for _ in range(times):
            self.said += 1
            self.store.in_namespace(namespace).remember(f"Sentence {self.said}.", kind="thesis")

    def wait(self, seconds: float) -> None:
        """Let so much time pass."""
        self.clock.advance(seconds=seconds)
        if self.url:
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(
                    "UPDATE wellkept.job SET due = due - make_interval(secs => %(s)s), "
                    "finished = finished - make_interval(secs => %(s)s)",
                    {"s": seconds},
                )


@pytest.fixture(params=["process", "file", "postgres"])
def yard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Yard]:
    clock = FrozenClock()
    given: dict[str, Any] = {"clock": clock, "new_id": CountingIds(), "relation_model": FakeRelationModel()}
    where, url, file = "memory:", "", None
    if request.param == "file":
        where, file = str(tmp_path / "a.db"), tmp_path / "a.db.jobs"
    if request.param == "postgres":
        from postgres.server import server

        where = url = server().database()
    with wellkept.open(where, embedder=FakeEmbedder(dim=16), **given) as store:
        made = Yard(store, clock, url, file)
        if request.param == "process":  # such a queue is the object that keeps it
            kept = made.queue
            made = type("One", (Yard,), {"queue": kept})(store, clock, url, file)
        yield made
    if url:
        from postgres.server import server

        server().release(url)


def took(yard: Yard, *kinds: str, seconds: float = 60.0) -> QueuedJob:
    job = yard.queue.claim(kinds or ("tidy",), holder="me", seconds=seconds)
    assert job is not None
    return job


def states(yard: Yard) -> list[tuple[str, str, str]]:
    return [(job.namespace, job.kind, job.state) for job in yard.queue.jobs()]


# --------------------------------------------------------------------------------------------
# When a job is due


def test_a_namespace_that_never_had_a_pass_is_due_at_once(yard: Yard) -> None:
    yard.say(1)
    assert yard.queue.look([TIDY, FADE]) == 2
    assert states(yard) == [("default", "fade", "due"), ("default", "tidy", "due")]
    assert yard.queue.look([TIDY, FADE]) == 0, "it is due already"


def test_an_empty_store_has_nothing_due(yard: Yard) -> None:
    assert yard.queue.look([TIDY]) == 0
    assert yard.queue.claim(["tidy"], holder="me", seconds=9) is None


@pytest.mark.parametrize(
    ("cadence", "entries", "seconds", "due"),
    [
        (TIDY, 2, 0, False),
        (TIDY, 3, 0, True),
        (TIDY, 1, 3_601, True),
        (TIDY, 0, 3_601, False),  # nothing changed
        (FADE, 0, 3_599, False),
        (FADE, 0, 3_601, True),  # time alone
        (FADE, 9, 0, False),
        (Cadence(kind="tidy"), 99, 99_999, False),  # only when it is asked for
    ],
)
def test_changes_since_the_last_pass_or_time_make_it_due(
    yard: Yard, cadence: Cadence, entries: int, seconds: float, *, due: bool
) -> None:
    yard.say(5)
    yard.queue.look([cadence])
    assert yard.queue.finish(took(yard, cadence.kind), seq=5, report={"planned": 1})
    yard.say(entries)
    yard.wait(seconds)
    assert yard.queue.look([cadence]) == int(due)


def test_entries_that_the_pass_has_not_seen_count_for_the_next_one(yard: Yard) -> None:
    yard.say(5)
    yard.queue.look([TIDY])
    job = took(yard)
    yard.say(3)
    assert yard.queue.finish(job, seq=5, report={})
    assert yard.queue.look([TIDY]) == 1


def test_a_namespace_that_was_put_back_to_an_older_state_is_due(yard: Yard) -> None:
    yard.say(2)
    yard.queue.look([TIDY])
    assert yard.queue.finish(took(yard), seq=99, report={})
    assert yard.queue.look([TIDY]) == 1


def test_each_namespace_stands_for_itself(yard: Yard) -> None:
    """I8."""
    yard.say(1, "acme")
    yard.say(4, "beta")
    yard.queue.look([TIDY])
    for _ in range(2):
        job = took(yard)
        assert yard.queue.finish(job, seq={"acme": 1, "beta": 4}[job.namespace], report={})
    yard.say(3, "beta")
    assert yard.queue.look([TIDY]) == 1
    assert took(yard).namespace == "beta"


# --------------------------------------------------------------------------------------------
# Taking, renewing, leaving


def test_what_has_been_due_longest_is_taken_first_and_only_of_the_kinds_asked_for(yard: Yard) -> None:
    for name, kind in (("c", "tidy"), ("a", "fade"), ("b", "tidy"), ("a", "tidy")):
        yard.queue.put(kind, [name])
        yard.wait(1)
    taken = [took(yard, "tidy", "none") for _ in range(3)]
    assert [job.namespace for job in taken] == ["c", "b", "a"]
    assert {(job.state, job.holder, job.turn, job.attempts) for job in taken} == {("running", "me", 1, 1)}
    assert yard.queue.claim(["tidy"], holder="me", seconds=60) is None
    assert took(yard, "fade").namespace == "a"


def test_a_worker_may_work_for_one_namespace(yard: Yard) -> None:
    yard.queue.put("tidy", ["a", "b"])
    job = yard.queue.claim(["tidy"], holder="me", seconds=60, namespace="b")
    assert job is not None and job.namespace == "b"
    assert yard.queue.claim(["tidy"], holder="me", seconds=60, namespace="b") is None


def test_a_lease_that_is_renewed_holds_and_one_that_is_not_ends(yard: Yard) -> None:
    yard.queue.put("tidy", ["a"])
    first = took(yard, seconds=60)
    yard.wait(50)
    assert yard.queue.renew(first, seconds=60, progress="apply 3/9")
    yard.wait(50)
    assert yard.queue.claim(["tidy"], holder="other", seconds=60) is None
    assert yard.queue.jobs()[0].progress == "apply 3/9"
    yard.wait(11)
    second = yard.queue.claim(["tidy"], holder="other", seconds=60)
    assert second is not None
    assert (second.turn, second.attempts, second.progress) == (2, 2, "")


def test_who_was_too_slow_can_neither_renew_nor_finish_nor_leave(yard: Yard) -> None:
    yard.queue.put("tidy", ["a"])
    slow = took(yard, seconds=1)
    yard.wait(2)
    quick = took(yard, seconds=60)
    assert not yard.queue.renew(slow, seconds=60)
    assert not yard.queue.finish(slow, seq=7, report={})
    assert not yard.queue.leave(slow, error="late")
    [job] = yard.queue.jobs()
    assert (job.state, job.turn, job.seq, job.error) == ("running", quick.turn, 0, "")
    assert yard.queue.finish(quick, seq=8, report={"executed": 2})
    [job] = yard.queue.jobs()
    assert (job.state, job.seq, job.attempts, job.holder, job.report) == ("idle", 8, 0, "", {"executed": 2})


def test_a_worker_that_woke_late_keeps_what_nobody_took(yard: Yard) -> None:
    yard.queue.put("tidy", ["a"])
    slow = took(yard, seconds=1)
    yard.wait(2)
    assert yard.queue.renew(slow, seconds=60)
    assert yard.queue.claim(["tidy"], holder="other", seconds=60) is None


def test_a_failed_attempt_waits_and_tells_why(yard: Yard) -> None:
    yard.queue.put("tidy", ["a"])
    assert yard.queue.leave(took(yard), after=30, error="Busy: another writer")
    assert yard.queue.claim(["tidy"], holder="me", seconds=60) is None
    [job] = yard.queue.jobs()
    assert (job.state, job.error, job.attempts) == ("due", "Busy: another writer", 1)
    yard.wait(31)
    again = took(yard)
    assert (again.attempts, again.error) == (2, "Busy: another writer")


def test_what_is_given_back_is_free_at_once_and_no_attempt(yard: Yard) -> None:
    yard.queue.put("tidy", ["a"])
    assert yard.queue.leave(took(yard), counted=False)
    assert took(yard).attempts == 1


def test_what_was_given_up_waits_for_somebody_who_asks(yard: Yard) -> None:
    yard.say(1)
    yard.queue.put("tidy", ["default", "b"])
    yard.queue.put("fade", ["b"])
    for _ in range(3):
        assert yard.queue.leave(took(yard, "tidy", "fade"), after=None, error="hopeless")
    yard.say(9)
    yard.wait(99_999)
    assert yard.queue.look([TIDY]) == 0
    assert yard.queue.claim(["tidy"], holder="me", seconds=9) is None
    assert len(yard.queue.jobs(states=("failed",))) == 3
    assert yard.queue.again(kinds=["tidy"], namespace="b") == 1
    assert (took(yard).namespace, yard.queue.again(kinds=["fade"]), yard.queue.again()) == ("b", 1, 1)


def test_what_is_put_again_while_it_runs_stays_as_it_is(yard: Yard) -> None:
    yard.queue.put("tidy", ["a"])
    job = took(yard)
    yard.queue.put("tidy", ["a"])
    assert yard.queue.jobs() == [job]
    assert yard.queue.finish(job, seq=0, report={})


def test_lists_are_by_namespace_and_kind_and_of_what_is_asked_for(yard: Yard) -> None:
    for kind in ("tidy", "fade"):
        yard.queue.put(kind, ["b", "a"])
    took(yard, "fade")
    assert [(job.namespace, job.kind) for job in yard.queue.jobs()] == [
        ("a", "fade"), ("a", "tidy"), ("b", "fade"), ("b", "tidy"),
    ]  # fmt: skip
    assert len(yard.queue.jobs(states=("running",))) == 1
    assert [job.kind for job in yard.queue.jobs(kinds=("tidy",), namespace="a")] == ["tidy"]
    assert len(yard.queue.jobs(limit=3)) == 3


def test_a_pass_that_is_noted_came_to_its_end_now_whoever_has_the_job(yard: Yard) -> None:
    """`note` is atomic: a process killed before it has recorded nothing, after it everything."""
    yard.queue.note("tidy", "a")
    [first] = yard.queue.jobs()
    assert (first.state, first.turn, first.finished) == ("idle", 0, first.due)
    yard.queue.put("tidy", ["a"])
    job = took(yard)
    yard.wait(60)
    yard.queue.note("tidy", "a")
    [noted] = yard.queue.jobs()
    assert (noted.state, noted.holder, noted.attempts, noted.turn) == ("idle", "", 0, job.turn)
    assert noted.finished is not None and first.finished is not None
    assert (noted.finished - first.finished).total_seconds() >= 0
    assert not yard.queue.renew(job, seconds=9)
    assert not yard.queue.finish(job, seq=0, report={})


def test_what_the_store_itself_has_to_do_is_met_only_by_whoever_names_it(yard: Yard) -> None:
    """Workers, lists and retries that mean all namespaces pass it over, also when it is of a kind of theirs."""
    yard.queue.put("tidy", [WHOLE_STORE])
    assert yard.queue.jobs() == yard.queue.jobs(kinds=("tidy",)) == []
    assert yard.queue.claim(["tidy"], holder="w", seconds=9) is None
    job = yard.queue.claim(["tidy"], holder="w", seconds=9, namespace=WHOLE_STORE)
    assert job is not None and yard.queue.leave(job, after=None, error="no")
    assert yard.queue.again() == yard.queue.again(kinds=("tidy",)) == 0
    assert [one.state for one in yard.queue.jobs(namespace=WHOLE_STORE)] == ["failed"]
    assert yard.queue.again(namespace=WHOLE_STORE) == 1


def test_no_namespace_can_be_called_as_the_store_itself_is(yard: Yard) -> None:
    with pytest.raises(InvalidField):
        yard.store.in_namespace(WHOLE_STORE)
