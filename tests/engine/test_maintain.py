"""Upkeep that runs by itself: expiry of conflicts, rounds of jobs, their schedule, and the lease."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stores import Desk
from wellkept.engine.base.context import Clock, Uuid7, utc_now
from wellkept.engine.upkeep.housekeeping import expire_conflicts
from wellkept.engine.upkeep.job_queue import KeptJobs, Page
from wellkept.engine.upkeep.lease import FileLease, Lease
from wellkept.engine.upkeep.queue_lease import QueueLease
from wellkept.engine.upkeep.rounds import Job, JobResult, Round, duration, maintain, standard_jobs
from wellkept.errors import Busy, InvalidField, ModelUnavailable, StorageError
from wellkept.testing.clock import CountingIds, FrozenClock

OLD, NEW = "Deploys happen on Monday.", "Deploys do not happen on Monday."


class Waits:
    """A stop that, instead of waiting, moves the clock on; after so many waits it is set."""

    def __init__(self, clock: FrozenClock, rounds: int) -> None:
        self.clock = clock
        self.left = rounds
        self.waited: list[float] = []

    def is_set(self) -> bool:
        return self.left <= 0

    def wait(self, timeout: float) -> bool:
        self.waited.append(timeout)
        self.clock.advance(seconds=timeout)
        self.left -= 1
        return self.is_set()


def counting(name: str, told: list[str]) -> Job:
    def run(ctx: Any) -> JobResult:
        told.append(f"{name} {ctx.namespace}")
        return JobResult({"ran": len(told)})

    return Job(name, run)


def rounds(table: Desk, jobs: list[Job], **options: Any) -> list[Round]:
    options.setdefault("stop", threading.Event())
    return list(maintain(table.store._ctx, jobs=jobs, **options))


def conflict(table: Desk) -> Any:
    table.near(OLD, NEW, 0.95)
    table.store.remember(OLD)
    table.store.remember(NEW)
    [found] = table.store.conflicts()
    return found


# --------------------------------------------------------------------------------------------
# Conflicts that nobody settled (D1)


def test_an_expired_conflict_is_settled_as_keep_both_by_an_entry_of_its_own(table: Desk) -> None:
    """D1, S2-55, I1."""
    found = conflict(table)
    assert expire_conflicts(table.store._ctx) == 0, "not before its time"
    table.clock.advance(days=15)
    assert expire_conflicts(table.store._ctx) == 1
    [settled] = table.store.conflicts(settled=True)
    assert (settled.resolution, settled.resolved_at) == ("keep_both", table.clock())
    assert table.rows("active") == [OLD, NEW]
    assert ("contradicts", found.a) in [(one.rel, one.memory.id) for one in table.store.neighbors(found.b)]
    entry = table.store.journal()[-1]
    assert (entry.verb, entry.outcome, entry.reasons[0].rule) == ("expire", "keep_both", "expired")
    assert table.store.verify() == ()


def test_expiring_again_changes_nothing_and_reading_never_expires(table: Desk) -> None:
    """I5."""
    conflict(table)
    table.clock.advance(days=15)
    before = table.snapshot()
    table.store.conflicts(settled=True), table.store.recall("deploys", touch=False)
    assert table.snapshot() == before
    expire_conflicts(table.store._ctx)
    after = table.snapshot()
    assert expire_conflicts(table.store._ctx) == 0
    assert table.snapshot() == after


def test_an_expiry_can_be_undone_and_then_stays_undone(table: Desk) -> None:
    """I1: the next upkeep must not undo the undo; the conflict can still be settled by hand."""
    found = conflict(table)
    rows = table.snapshot()[:3]
    table.clock.advance(days=15)
    expire_conflicts(table.store._ctx)
    table.store.undo(table.store.journal()[-1].seq)
    assert table.snapshot()[:3] == rows
    assert expire_conflicts(table.store._ctx) == 0
    table.store.resolve(found.key, "keep_new")
    assert table.rows("active") == [NEW]


def test_a_conflict_that_was_settled_in_time_is_left_as_it_is(table: Desk) -> None:
    found = conflict(table)
    table.store.resolve(found.key, "dismissed")
    table.clock.advance(days=15)
    assert expire_conflicts(table.store._ctx) == 0
    assert table.store.conflicts(settled=True)[0].resolution == "dismissed"


# --------------------------------------------------------------------------------------------
# Durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("15m", 900),
        ("6h", 21_600),
        ("2d", 172_800),
        ("1h30m", 5400),
        (" 6H ", 21_600),
        ("366d", 31_622_400),
    ],
)
def test_a_duration_is_a_number_with_a_unit(text: str, seconds: int) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "6", "h", "6 hours", "-1h", "1.5h", "0s", "367d", "99999999d", "6h!", "٦h", "\x1b"]
)
def test_what_is_no_duration_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(InvalidField) as caught:
        duration(text)
    assert caught.value.todo


# --------------------------------------------------------------------------------------------
# Rounds


def test_one_round_does_all_jobs_in_order_in_every_namespace(table: Desk) -> None:
    table.store.remember(OLD)
    table.store.in_namespace("acme/alice").remember(OLD)
    told: list[str] = []
    [done] = rounds(table, [counting("a", told), counting("b", told)], once=True)
    assert told == ["a acme/alice", "b acme/alice", "a default", "b default"]
    assert [(job.job, job.namespace, job.state) for job in done.jobs][0] == ("a", "acme/alice", "done")
    rounds(table, [counting("c", told)], once=True, namespaces=("default",))
    assert told[4:] == ["c default"]


def failing(error: Exception) -> Job:
    def run(ctx: Any) -> JobResult:
        raise error

    return Job("broken", run)


def test_a_failed_job_is_told_and_stops_no_other(table: Desk) -> None:
    """D2."""
    told: list[str] = []
    jobs = [failing(StorageError("the disk is full")), counting("b", told)]
    [done] = rounds(table, jobs, once=True)
    assert [(job.state, job.error) for job in done.jobs] == [
        ("failed", "StorageError: the disk is full."),
        ("done", ""),
    ]
    assert told == ["b default"]
    assert [job.job for job in done.failed] == ["broken"]


def test_a_failed_job_does_not_advance_its_schedule_and_one_that_only_plans_does(
    table: Desk, leases: Callable[..., Lease]
) -> None:
    """D2: the failed one is tried again soon, the others when they are due."""
    lease = leases(clock=table.clock, new_id=CountingIds())
    every = timedelta(hours=6)
    plan = Job("plan", lambda ctx: JobResult({"planned": 3}))
    stop = Waits(table.clock, rounds=3)
    made = rounds(table, [plan, failing(StorageError("no"))], every=every, stop=stop, lease=lease)
    assert [[job.job for job in one.jobs] for one in made] == [["plan", "broken"], ["broken"], ["broken"]]
    assert stop.waited == [300.0] * 3
    assert list(lease.ran()) == ["plan default"]


def test_a_loop_waits_for_what_is_due_and_ends_when_told(table: Desk) -> None:
    told: list[str] = []
    stop = Waits(table.clock, rounds=2)
    made = rounds(table, [counting("a", told)], every=timedelta(hours=6), stop=stop)
    assert (len(made), stop.waited, told) == (2, [21_600.0] * 2, ["a default"] * 2)


def test_a_job_with_a_span_of_its_own_runs_by_that(table: Desk) -> None:
    told: list[str] = []
    seldom = Job("seldom", counting("seldom", told).run, every=timedelta(days=1))
    stop = Waits(table.clock, rounds=5)
    rounds(table, [counting("often", told), seldom], every=timedelta(hours=6), stop=stop)
    assert told.count("often default") == 5 and told.count("seldom default") == 2


def test_whoever_stops_it_stops_it_between_two_jobs(table: Desk) -> None:
    stop = threading.Event()
    told: list[str] = []

    def last(ctx: Any) -> JobResult:
        stop.set()
        return JobResult()

    [done] = rounds(table, [Job("last", last), counting("never", told)], every=timedelta(hours=1), stop=stop)
    assert (done.stopped, [job.job for job in done.jobs], told) == (True, ["last"], [])


def test_a_loop_without_a_span_is_refused(table: Desk) -> None:
    with pytest.raises(InvalidField, match="span"):
        rounds(table, [])


def test_the_standard_jobs_expire_sweep_plan_and_verify(table: Desk) -> None:
    """F-28, I7: the sweep makes up for an outage; a plan is made and not applied."""
    conflict(table)
    table.fake.fail_with = ModelUnavailable("down")
    late = table.store.remember("A text about candles").memory
    table.fake.fail_with = None
    table.clock.advance(days=15)
    jobs = standard_jobs({"consolidate": lambda ctx: {"planned": 2}, "decay": lambda ctx: {"dormant": 1}})
    [done] = rounds(table, list(jobs), once=True)
    assert [(job.job, job.state) for job in done.jobs] == [
        (name, "done") for name in ("expire", "sweep", "consolidate", "decay", "verify")
    ]
    reports = {job.job: dict(job.report) for job in done.jobs}
    assert reports["expire"] == {"expired": 1}
    assert (reports["sweep"]["embedded"], reports["sweep"]["checked"], reports["sweep"]["left"]) == (1, 1, 0)
    assert reports["consolidate"] == {"planned": 2}
    assert reports["verify"] == {"problems": 0}
    assert table.store.get(late.id).checked
    before = table.snapshot()
    rounds(table, list(jobs), once=True)
    assert table.snapshot() == before, "a second round has nothing to do (I5)"


def test_an_outage_in_the_sweep_is_a_failed_job_with_its_figures(table: Desk) -> None:
    """I7, D2."""
    table.fake.fail_with = ModelUnavailable("down")
    table.store.remember(OLD)
    [done] = rounds(table, list(standard_jobs()), once=True)
    [failed] = done.failed
    assert (failed.job, failed.report["left"]) == ("sweep", 1)
    assert "down" in failed.error


def test_verify_in_a_round_tells_the_first_problems(table: Desk) -> None:
    row = table.store.remember(OLD).memory
    table.store.link(row.id, "nobody")
    [done] = rounds(table, list(standard_jobs()), once=True)
    told = done.jobs[-1].report
    assert (told["problems"], told["first"][0]["what"]) == (1, "one end does not exist")


# --------------------------------------------------------------------------------------------
# The lease


@pytest.fixture(params=["file", "queue"])
def leases(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Lease]:
    """Creates holders of one lease, stored in a file or in a job queue."""
    kept: Page = {}
    alone = threading.Lock()

    @contextmanager
    def page() -> Iterator[Page]:
        with alone:
            yield kept

    def made(*, clock: Clock, **options: Any) -> Lease:
        if request.param == "file":
            return FileLease(tmp_path / "agent.db.upkeep", clock=clock, **options)
        return QueueLease(KeptJobs(page, heads=dict, clock=clock), clock=clock, **options)

    return made


@pytest.fixture
def lease(leases: Callable[..., Lease]) -> Callable[..., Lease]:
    """Makes holders of one lease on one clock."""
    clock, ids = FrozenClock(), CountingIds()

    def made(**options: Any) -> Lease:
        return leases(clock=clock, new_id=ids, **options)

    made.clock = clock  # type: ignore[attr-defined]
    return made


def test_only_one_holds_the_lease_until_it_is_given_up(lease: Callable[..., Lease]) -> None:
    one, two = lease(), lease()
    assert one.take() == "" and one.take() == "", "its holder renews it"
    assert "held by process" in two.take()
    two.release()
    assert two.take() != "", "nobody gives up what is another's"
    one.release()
    assert two.take() == ""


def test_a_lease_ends_by_itself_when_its_holder_is_gone(lease: Callable[..., Lease]) -> None:
    """A crash frees it after its time, and what ran is still known."""
    one, two = lease(seconds=60.0), lease(seconds=60.0)
    clock: FrozenClock = lease.clock  # type: ignore[attr-defined]
    one.take()
    one.advance("sweep default", clock())
    clock.advance(seconds=59)
    assert two.take() != ""
    clock.advance(seconds=2)
    assert two.take() == ""
    assert one.take() != "", "the former holder sees that it lost it"
    assert list(two.ran()) == ["sweep default"]


def test_a_clock_that_went_back_locks_nobody_out_for_good(lease: Callable[..., Lease]) -> None:
    one, two = lease(), lease()
    clock: FrozenClock = lease.clock  # type: ignore[attr-defined]
    one.take()
    clock.advance(days=-400)
    assert two.take() == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"until": 5}', '{"holder": "x", "until": "noon"}', "\x00" * 20])
def test_a_lease_file_that_says_nothing_is_written_anew(text: str, tmp_path: Path) -> None:
    (tmp_path / "agent.db.upkeep").write_text(text, encoding="utf-8")
    ids, clock = CountingIds(), FrozenClock()
    one, two = (FileLease(tmp_path / "agent.db.upkeep", clock=clock, new_id=ids) for _ in range(2))
    assert (one.ran(), one.take()) == ({}, "")
    assert two.take() != ""


def test_a_lease_is_written_whole_where_the_system_takes_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda handle, text: whole(handle, text[:7]))
    ids, clock = CountingIds(), FrozenClock()
    one, two = (FileLease(tmp_path / "agent.db.upkeep", clock=clock, new_id=ids) for _ in range(2))
    assert one.take() == ""
    assert two.take() != ""


def test_many_who_ask_at_once_get_it_once(lease: Callable[..., Lease]) -> None:
    holders = [lease() for _ in range(8)]
    begin = threading.Barrier(len(holders))
    got: list[str] = []

    def ask(holder: Lease) -> None:
        begin.wait()
        got.append(holder.take())

    threads = [threading.Thread(target=ask, args=(holder,)) for holder in holders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got.count("") == 1


def test_a_second_loop_is_refused_and_a_single_round_says_why_it_did_nothing(
    table: Desk, lease: Callable[..., Lease]
) -> None:
    one, two = lease(), lease()
    one.take()
    told: list[str] = []
    with pytest.raises(Busy, match="another process"):
        rounds(table, [counting("a", told)], every=timedelta(hours=1), lease=two)
    [done] = rounds(table, [counting("a", told)], once=True, lease=two)
    assert (told, done.jobs) == ([], ())
    assert "held by" in done.held


def test_the_lease_is_renewed_while_a_job_takes_long_and_given_up_at_the_end(
    table: Desk, leases: Callable[..., Lease]
) -> None:
    one, two = (leases(clock=utc_now, new_id=Uuid7(), seconds=0.3) for _ in range(2))
    seen: list[str] = []

    def long(ctx: Any) -> JobResult:
        for _ in range(8):
            threading.Event().wait(0.1)
            seen.append(two.take())
        return JobResult()

    rounds(table, [Job("long", long)], once=True, lease=one)
    assert all(seen) and len(seen) == 8
    assert two.take() == ""


def test_cron_with_a_span_does_only_what_is_due(table: Desk, lease: Callable[..., Lease]) -> None:
    told: list[str] = []
    options = {"once": True, "every": timedelta(hours=6)}
    rounds(table, [counting("a", told)], lease=lease(), **options)
    [done] = rounds(table, [counting("a", told)], lease=lease(), **options)
    assert (told, done.jobs) == (["a default"], ())
    table.clock.advance(hours=6)
    rounds(table, [counting("a", told)], lease=lease(), **options)
    assert told == ["a default"] * 2


def test_a_holder_that_lost_the_lease_stops_between_two_jobs(table: Desk, lease: Callable[..., Lease]) -> None:
    """A process that slept beyond its lease detects the new holder and stops."""
    one, two = (lease(seconds=0.3) for _ in range(2))
    told: list[str] = []
    begun, lost = threading.Event(), threading.Event()
    take = one.take

    def taking() -> str:
        if begun.is_set():  # the beat of a process that slept until somebody else had it
            lease.clock.advance(seconds=0.5)  # type: ignore[attr-defined]
            assert two.take() == ""
            lost.set()
        begun.set()
        return take()

    one.take = taking  # type: ignore[method-assign]

    def sleeping(ctx: Any) -> JobResult:
        assert lost.wait(30)
        for beat in [thread for thread in threading.enumerate() if thread.name == "wellkept-lease"]:
            beat.join(30)
        return JobResult()

    made = maintain(
        table.store._ctx, jobs=[Job("sleeping", sleeping), counting("never", told)], stop=threading.Event(),
        every=timedelta(hours=1), lease=one,
    )  # fmt: skip
    done = next(made)
    assert (done.stopped, [job.job for job in done.jobs], told) == (True, ["sleeping"], [])
    with pytest.raises(Busy, match="lost"):
        next(made)
    assert "held by" in lease(seconds=0.3).take(), "giving up gave up nothing of the other's"
