"""Workers: order of jobs, retries, release and permanent failure (issue 7 §6)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from raising import raise_question
from stores import Desk
from wellkept.engine.base.context import Context
from wellkept.engine.upkeep.job_queue import LONGEST_LEASE, KeptJobs, Page, queue_of
from wellkept.engine.upkeep.jobs import KINDS, Answering, Errand, Outcome, Settings, Step, chosen, errands
from wellkept.engine.upkeep.worker import MOST_ATTEMPTS, Pace, WorkReport, work
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import InvalidField, ModelUnavailable, StorageError
from wellkept.storage.port import JobQueue, Queueing
from wellkept.types import Question
from wellkept.types.jobs import Cadence

ALL = ("expire", "sweep", "consolidate", "decay")
PAIR = ("Tea is upstairs.", "tea is upstairs")


@pytest.fixture
def queue(table: Desk, tmp_path: Path) -> JobQueue:
    if isinstance(table.store._ctx.storage, Queueing):
        pytest.skip("a database has a clock of its own; its queue is in tests/contract and tests/postgres")
    return queue_of(table.store._ctx, tmp_path / "a.db.jobs")


def once(table: Desk, queue: JobQueue, kinds: Sequence[Errand], **options: Any) -> list[WorkReport]:
    options.setdefault("stop", threading.Event())
    return list(work(table.store._ctx, queue, kinds, once=True, **options))


def usual(*names: str, **settings: Any) -> tuple[Errand, ...]:
    return chosen(names or ALL, among=errands(Settings(**settings)))


def doing(run: Callable[[Context, Step], Outcome], kind: str = "x", **cadence: Any) -> tuple[Errand, ...]:
    return (Errand(Cadence(kind=kind, **({"changes": 1} | cadence)), run),)


def repeats(table: Desk, namespace: str = "default") -> None:
    for text in PAIR:
        table.store.in_namespace(namespace).remember(text, kind="note", on_conflict="ignore")


# --------------------------------------------------------------------------------------------
# What is done


def test_what_is_due_is_done_in_every_namespace_and_then_nothing_is(table: Desk, queue: JobQueue) -> None:
    """Kind by kind; the entries of a pass are no reason for the next one."""
    for name in ("acme", "beta"):
        repeats(table, name)
    told = once(table, queue, usual())
    assert [(one.job, one.namespace) for one in told] == [(kind, name) for kind in ALL for name in ("acme", "beta")]
    assert {one.state for one in told} == {"done"}
    assert [one.report["executed"] for one in told if one.job == "consolidate"] == [1, 1]
    assert [len(table.store.in_namespace(name).list()) for name in ("acme", "beta")] == [1, 1]
    before = table.snapshot()
    assert once(table, queue, usual(changes=1)[2:3]) == []
    assert table.snapshot() == before


def test_every_run_of_a_worker_can_be_taken_back(table: Desk, queue: JobQueue) -> None:
    """I1."""
    repeats(table)
    rows = table.snapshot()[0]
    [told] = once(table, queue, usual("consolidate"))
    table.store.undo_run(str(told.report["run_id"]))
    assert [(row.id, row.status, row.content) for row in table.snapshot()[0]] == [
        (row.id, row.status, row.content) for row in rows
    ]


def test_a_namespace_is_tidied_again_after_so_many_changes_or_so_much_time(table: Desk, queue: JobQueue) -> None:
    kinds = usual("consolidate", changes=2, every=timedelta(hours=1))
    table.store.remember("One.", kind="thesis")
    assert len(once(table, queue, kinds)) == 1
    table.store.remember("Two.", kind="thesis")
    assert once(table, queue, kinds) == []
    table.store.remember("Three.", kind="thesis")
    assert len(once(table, queue, kinds)) == 1
    table.store.remember("Four.", kind="thesis")
    table.clock.advance(hours=1, seconds=1)
    assert len(once(table, queue, kinds)) == 1


def test_a_job_of_an_erased_and_of_an_unknown_namespace_has_nothing_to_do(table: Desk, queue: JobQueue) -> None:
    table.store.erase(table.store.remember(PAIR[0]).memory.id)  # type: ignore[union-attr]
    queue.put("consolidate", ["default", "never/heard/of"])
    told = once(table, queue, usual("consolidate", "reflect"))
    assert {(one.job, one.namespace, one.state) for one in told} == {
        ("consolidate", "default", "done"),
        ("reflect", "default", "done"),
        ("consolidate", "never/heard/of", "done"),
    }
    assert table.store.namespaces() == ("default",), "looking makes no namespace"


def test_only_the_named_namespace_is_worked_for(table: Desk, queue: JobQueue) -> None:
    for name in ("acme", "beta"):
        repeats(table, name)
    assert {one.namespace for one in once(table, queue, usual(), only="beta")} == {"beta"}


def test_the_kill_switch_holds_what_would_change_memories_and_counts_no_attempt(table: Desk, queue: JobQueue) -> None:
    """S1-52: nothing is even planned; the rest is done."""
    repeats(table)
    object.__setattr__(table.store._ctx, "held", lambda: "the switch is pulled")
    told = {one.job: one for one in once(table, queue, usual())}
    assert (told["expire"].state, told["sweep"].state) == ("done", "done")
    assert (told["consolidate"].state, told["decay"].state) == ("held", "held")
    [job] = queue.jobs(kinds=("consolidate",))
    assert (job.state, job.attempts, job.error) == ("due", 0, "the switch is pulled")
    assert len(table.store.list()) == 2
    object.__setattr__(table.store._ctx, "held", str)
    table.clock.advance(minutes=6)
    assert [one.state for one in once(table, queue, usual("consolidate"))] == ["done"]


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidField, match="consolidate"):
        usual("tidy")


# --------------------------------------------------------------------------------------------
# What goes wrong


def test_a_failing_job_is_tried_so_often_with_growing_pauses_and_then_given_up(table: Desk, queue: JobQueue) -> None:
    table.store.remember(PAIR[0])
    tried: list[int] = []

    def run(ctx: Context, step: Step) -> Outcome:
        tried.append(1)
        raise ModelUnavailable("down", where="test")

    waits = []
    for attempt in range(1, MOST_ATTEMPTS + 1):
        [told] = once(table, queue, doing(run))
        assert (told.state, told.attempt) == ("failed" if attempt < MOST_ATTEMPTS else "gave_up", attempt)
        assert "ModelUnavailable: down" in told.error
        [job] = queue.jobs()
        waits.append((job.due - table.clock()).total_seconds())
        assert once(table, queue, doing(run)) == [], "it waits"
        table.clock.advance(seconds=waits[-1])
    assert waits == [30, 120, 480, 1920, 0]
    assert (queue.jobs()[0].state, len(tried)) == ("failed", MOST_ATTEMPTS)
    table.clock.advance(days=365)
    assert once(table, queue, doing(run)) == []
    assert queue.again() == 1
    assert len(once(table, queue, doing(run))) == 1


def test_a_job_of_which_no_worker_comes_back_is_given_up_without_another_try(table: Desk, queue: JobQueue) -> None:
    """A text that crashes a worker must not crash all workers."""
    table.store.remember(PAIR[0])
    kinds = doing(lambda ctx, step: Outcome())
    queue.look([kinds[0].cadence])
    for _ in range(MOST_ATTEMPTS):
        assert queue.claim(["x"], holder="dead", seconds=60) is not None
        table.clock.advance(seconds=61)
    [told] = once(table, queue, kinds)
    assert told.state == "gave_up" and "5 workers" in told.error
    assert queue.jobs()[0].state == "failed"


def test_an_outage_of_the_embedder_is_a_failed_attempt_with_its_counts(table: Desk, queue: JobQueue) -> None:
    """I7, F-28."""
    table.fake.fail_with = ModelUnavailable("down", where="fake")
    table.store.remember(PAIR[0])
    [told] = once(table, queue, usual("sweep"))
    assert told.state == "failed" and told.report["left"] == 1


def test_a_mistake_of_ours_ends_the_worker_and_is_told_where_the_job_is_kept(table: Desk, queue: JobQueue) -> None:
    table.store.remember(PAIR[0])

    def run(ctx: Context, step: Step) -> Outcome:
        raise AssertionError("a mistake")

    with pytest.raises(AssertionError):
        once(table, queue, doing(run))
    [job] = queue.jobs()
    assert (job.state, job.error, job.attempts) == ("due", "AssertionError: a mistake", 1)


@pytest.mark.parametrize("error", [RecursionError, OverflowError, TypeError, KeyError, AttributeError, ValueError])
def test_what_one_namespace_makes_of_the_code_fails_its_job_and_the_worker_goes_on(
    table: Desk, queue: JobQueue, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    """E3: data of one namespace blocks no other one."""
    for name in ("acme", "beta"):
        table.store.in_namespace(name).remember(PAIR[0])

    def run(ctx: Context, step: Step) -> Outcome:
        if ctx.namespace == "acme":
            raise error("odd")
        return Outcome()

    told = {one.namespace: one for one in once(table, queue, doing(run))}
    assert (told["acme"].state, told["beta"].state) == ("failed", "done")
    assert told["acme"].error.startswith(error.__name__)
    assert "The job x of 'acme' failed" in caplog.text and "Traceback" in caplog.text


def test_a_failed_job_stops_no_other(table: Desk, queue: JobQueue) -> None:
    for name in ("acme", "beta"):
        repeats(table, name)

    def run(ctx: Context, step: Step) -> Outcome:
        return Outcome(failed="broken" if ctx.namespace == "acme" else "")

    assert [(one.namespace, one.state) for one in once(table, queue, doing(run))] == [
        ("acme", "failed"),
        ("beta", "done"),
    ]


# --------------------------------------------------------------------------------------------
# The end


def test_a_worker_told_to_stop_gives_the_job_back_at_its_next_step(table: Desk, queue: JobQueue) -> None:
    """Finished steps stay, none is half done, and the next worker completes the rest."""
    words = ("upstairs", "downstairs", "outside", "in the cellar")
    for word in words:
        for text in (f"The bell hangs {word}.", f"the bell hangs {word}"):
            table.store.remember(text, kind="note", on_conflict="ignore")
    stop = threading.Event()

    def run(ctx: Context, step: Step) -> Outcome:
        def stopping(how_far: str) -> None:
            if how_far.startswith("apply 2/"):
                stop.set()
            step(how_far)

        return usual("consolidate")[0].run(ctx, stopping)

    [told] = once(table, queue, doing(run), stop=stop)
    assert (told.state, len(table.store.list())) == ("given_back", len(words) * 2 - 2)
    [job] = queue.jobs()
    assert (job.state, job.attempts, job.holder) == ("due", 0, "")
    [told] = once(table, queue, doing(usual("consolidate")[0].run))
    assert (told.state, told.report["executed"], len(table.store.list())) == ("done", len(words) - 2, len(words))
    assert table.store.verify() == ()


def test_a_worker_whose_job_was_taken_over_stops_at_its_next_step_and_tells_nothing_of_it(
    table: Desk, queue: JobQueue
) -> None:
    table.store.remember(PAIR[0])
    renewed = threading.Event()

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(queue, name)

        def renew(self, job: Any, **values: Any) -> bool:
            kept = queue.renew(job, **values)
            if not kept:
                renewed.set()
            return kept

    def run(ctx: Context, step: Step) -> Outcome:
        table.clock.advance(hours=1)  # as if this process had slept
        assert queue.claim(["x"], holder="another", seconds=60) is not None
        assert renewed.wait(30)
        for _ in range(1_000):
            step("on")  # the one who renews says so in a moment
            threading.Event().wait(0.01)
        raise AssertionError("it was not stopped")

    [told] = list(work(table.store._ctx, Watched(), doing(run), stop=threading.Event(), once=True,
                       pace=Pace(lease=0.3)))  # type: ignore[arg-type]  # fmt: skip
    assert told.state == "lost"
    [job] = queue.jobs()
    assert (job.state, job.holder, job.turn) == ("running", "another", 2)


def test_a_worker_renews_its_lease_while_it_works_and_says_how_far_it_is(table: Desk, queue: JobQueue) -> None:
    table.store.remember(PAIR[0])
    seen = threading.Event()

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(queue, name)

        def renew(self, job: Any, *, seconds: float, progress: str = "") -> bool:
            kept = queue.renew(job, seconds=seconds, progress=progress)
            if progress == "half":
                seen.set()
            return kept

    def run(ctx: Context, step: Step) -> Outcome:
        step("half")
        assert seen.wait(30)
        [job] = queue.jobs()
        assert (job.state, job.progress) == ("running", "half")
        return Outcome()

    [told] = list(work(table.store._ctx, Watched(), doing(run), stop=threading.Event(), once=True,
                       pace=Pace(lease=0.3)))  # type: ignore[arg-type]  # fmt: skip
    assert told.state == "done"


def test_no_lease_is_so_long_that_the_next_worker_takes_it_for_a_mistake_of_the_clock(
    table: Desk, queue: JobQueue
) -> None:
    table.store.remember(PAIR[0])
    queue.put("x", ["default"])
    longest = LONGEST_LEASE.total_seconds()
    assert queue.claim(["x"], holder="one", seconds=Pace(lease=longest).lease) is not None
    assert queue.claim(["x"], holder="another", seconds=60) is None
    for wrong in (longest + 1, 0.0):
        with pytest.raises(InvalidField, match="1h"):
            Pace(lease=wrong)


def test_a_job_that_is_taken_while_another_one_asks_for_a_retry_stays_taken(table: Desk) -> None:
    """A retry request must not restore an outdated state of the job."""
    table.store.remember(PAIR[0])
    held: Page = {}
    between: list[Callable[[], object]] = []

    @contextmanager
    def page() -> Iterator[Page]:
        yield held
        while between:
            between.pop()()

    jobs = KeptJobs(page, heads=dict, clock=table.clock)
    jobs.put("x", ["default"])
    first = jobs.claim(["x"], holder="one", seconds=60)
    assert first is not None and jobs.leave(first, after=None, error="five times")
    between.append(lambda: (jobs.put("x", ["default"]), jobs.claim(["x"], holder="two", seconds=60)))
    jobs.again()
    [job] = jobs.jobs()
    assert (job.state, job.holder, job.turn) == ("running", "two", 2)


def test_a_worker_waits_for_a_store_that_cannot_be_reached_unless_it_runs_once(table: Desk, queue: JobQueue) -> None:
    table.store.remember(PAIR[0])
    failing = [1, 1]

    class Flaky:
        def __getattr__(self, name: str) -> Any:
            return getattr(queue, name)

        def look(self, cadences: Sequence[Cadence]) -> int:
            if failing:
                failing.pop()
                raise StorageError("gone", where="test")
            return queue.look(cadences)

    kinds = doing(lambda ctx, step: Outcome())
    with pytest.raises(StorageError):
        list(work(table.store._ctx, Flaky(), kinds, stop=threading.Event(), once=True))  # type: ignore[arg-type]
    stop = threading.Event()
    for told in work(table.store._ctx, Flaky(), kinds, stop=stop, pace=Pace(pause=0.01)):  # type: ignore[arg-type]
        assert told.state == "done"
        stop.set()
    assert not failing


# --------------------------------------------------------------------------------------------
# A model that answers questions


class Model:
    """Answers alike, at ten tokens a question, as long as its budget lasts."""

    id = "small"

    def __init__(self, budget: int = 1_000, said: str = "new") -> None:
        self.budget, self.said, self.tokens = budget, said, 0

    def __call__(self, questions: Sequence[Question]) -> dict[str, str] | None:
        room = (self.budget - self.tokens) // 10
        self.tokens += 10 * min(room, len(questions))
        return {one.id: self.said for one in questions[:room]} if room else None


def asking(table: Desk, count: int, namespace: str = "default") -> MemoryStore:
    """Open questions in a namespace."""
    store = table.store.in_namespace(namespace)
    old, *new = (store.remember(f"{namespace} number {number}", kind="note").id for number in range(count + 1))
    for one in new:
        raise_question(store, one, old)
    return store


def answering(model: Callable[[], Any], **settings: Any) -> tuple[Errand, ...]:
    return usual("answer", answering=Answering(model=model, **settings))


def test_there_is_no_such_job_without_a_model() -> None:
    """Nor one that judges, where nothing waits to be judged."""
    usual = [kind for kind in KINDS if kind not in ("answer", "judge")]
    assert [one.kind for one in errands()] == usual
    assert [one.kind for one in errands(Settings(answering=Answering(model=Model)))] == [*usual, "answer"]
    assert [one.kind for one in errands(Settings(answering=Answering(model=Model), later=True))] == [*KINDS]
    with pytest.raises(InvalidField, match="needs a model"):
        chosen(["answer"], among=errands())


def test_a_model_answers_the_questions_of_each_namespace_with_a_budget_of_its_own(table: Desk, queue: JobQueue) -> None:
    stores = [asking(table, 12, name) for name in ("acme", "beta")]
    told = once(table, queue, answering(lambda: Model(budget=150)))
    assert [(one.job, one.state, dict(one.report)) for one in told] == [
        ("answer", "done", {"answered": 12, "left": 0, "tokens": 120})
    ] * 2
    assert [store.questions() for store in stores] == [(), ()]
    last = stores[0].journal(newest=1)[0]
    assert (last.verb, {one.rule: one.detail for one in last.reasons}["answered_with"]) == ("answer", "small")
    assert once(table, queue, answering(Model)) == []


def test_what_the_budget_did_not_allow_is_asked_the_next_time(table: Desk, queue: JobQueue) -> None:
    store = asking(table, 25)
    counts = []
    for _ in range(3):
        counts += [dict(one.report) for one in once(table, queue, answering(lambda: Model(budget=100)))]
        table.clock.advance(days=2)
    assert [(one["answered"], one["left"], one["tokens"]) for one in counts] == [
        (10, 15, 100),
        (10, 5, 100),
        (5, 0, 50),
    ]
    assert store.questions() == ()


def test_the_limit_counts_the_questions_of_a_run(table: Desk, queue: JobQueue) -> None:
    store = asking(table, 7)
    [told] = once(table, queue, answering(Model, limit=3))
    assert (told.report["answered"], len(store.questions())) == (3, 4)


def test_a_model_that_fails_is_tried_again_later_and_what_it_answered_stays(table: Desk, queue: JobQueue) -> None:
    store = asking(table, 12)

    class Failing(Model):
        def __call__(self, questions: Sequence[Question]) -> dict[str, str] | None:
            if self.tokens:
                raise ModelUnavailable("the endpoint answered 503", where="here")
            return super().__call__(questions)

    [told] = once(table, queue, answering(Failing))
    assert (told.state, len(store.questions())) == ("failed", 2) and "503" in told.error
    table.clock.advance(minutes=1)
    [told] = once(table, queue, answering(Model))
    assert (told.state, told.report["answered"]) == ("done", 2)


def test_no_model_answers_while_the_kill_switch_is_on(
    table: Desk, queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = asking(table, 2)
    monkeypatch.setenv("WELLKEPT_CONSOLIDATE_DRY_RUN", "1")
    [told] = once(table, queue, answering(Model))
    assert (told.state, len(store.questions())) == ("held", 2)


def test_a_stop_takes_effect_between_two_batches(table: Desk, queue: JobQueue) -> None:
    store, stop = asking(table, 25), threading.Event()

    class Stopping(Model):
        def __call__(self, questions: Sequence[Question]) -> dict[str, str] | None:
            stop.set()
            return super().__call__(questions)

    [told] = once(table, queue, answering(Stopping), stop=stop)
    assert (told.state, len(store.questions(limit=None))) == ("given_back", 15)
