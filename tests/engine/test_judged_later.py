"""Writes that are stored at once and judged after their commit (`judging = "later"`)."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

import wellkept
from asked import NEW, OLD, THIRD, Unsure, unsure
from late import picture, store_of, stream, waits
from stores import EACH_BACKEND
from wellkept.engine.upkeep.job_queue import queue_of
from wellkept.engine.upkeep.jobs import Settings, chosen, errands
from wellkept.engine.upkeep.judging_worker import judging_everywhere
from wellkept.engine.upkeep.worker import work
from wellkept.errors import IllegalTransition, InvalidField, ModelUnavailable, NotPermitted
from wellkept.policy import Policy
from wellkept.types import Filter

LATER = replace(Policy(), judging="later", ask=0)
DOWN = ModelUnavailable("out of memory")


@pytest.fixture
def late(make, request):
    """A store that judges later, with `OLD` in it; `NEW` restates it, `THIRD` is news."""

    def opened(policy=LATER, **opinion):
        made = make(policy=policy, relation_model=Unsure())
        model = made.options["relation_model"]
        for other in (NEW, THIRD):
            made.near(OLD, other, 0.8)
        made.near(NEW, THIRD, 0.8)
        model.declare(OLD, NEW, **(opinion or {"same": 0.97}))
        made.store.remember(OLD, kind="fact")
        return made

    return opened


def statuses(store):
    return [(row.content, row.status) for row in store.list(Filter(statuses=("active", "wording", "superseded")))]


def test_a_write_is_stored_at_once_and_says_that_it_is_judged_later(late):
    """The model is not asked in the write; recall finds the text, and everything that counts says that it waits."""
    made = late()
    told = made.store.remember(NEW, kind="fact")
    assert (told.outcome, told.degraded, told.memory.checked) == ("created", ("judging",), False)
    assert told.message.endswith("It is judged later.")
    assert made.options["relation_model"].asked == []
    assert NEW in [hit.memory.content for hit in made.store.recall("billing", limit=5)]
    stats = made.store.stats()
    assert (stats.unchecked, stats.waiting) == (1, 1)


@pytest.mark.parametrize(
    ("opinion", "repeats", "then"),
    [
        ({"same": 0.97}, "fold", [(OLD, "active"), (NEW, "wording")]),
        ({"same": 0.97}, "drop", [(OLD, "active")]),
        ({"conflict": 0.97}, "fold", [(OLD, "active"), (NEW, "active")]),
        ({}, "fold", [(OLD, "active"), (NEW, "active")]),
    ],
)
def test_a_waiting_write_becomes_what_it_would_have_become(late, opinion, repeats, then):
    """A text that is dropped under the policy stays in the journal, under its id."""
    fact = replace(LATER.kinds["fact"], repeats=repeats)
    made = late(replace(LATER, kinds={**LATER.kinds, "fact": fact}), **(opinion or {"distinct": 1.0}))
    told = made.store.remember(NEW, kind="fact")
    assert made.store.judge_waiting().left == 0
    assert statuses(made.store) == then
    assert bool(made.store.conflicts()) == ("conflict" in opinion)
    assert made.store.stats().waiting == made.store.stats().unchecked == 0
    assert made.store.verify() == ()
    if repeats == "drop":
        assert made.store.journal()[-1].dropped.id == told.memory.id
    last = made.store.journal()[-1]
    assert last.reasons[-1].detail == f"written in entry {told.entry}"


def test_a_text_that_is_judged_to_be_new_makes_one_entry_that_changes_nothing_else(late):
    made = late(distinct=1.0)
    told = made.store.remember(NEW, kind="fact")
    before = made.store.journal()
    made.store.judge_waiting()
    (mark,) = made.store.journal()[len(before) :]
    assert (mark.verb, mark.outcome, mark.memory_id) == ("judge", "checked", told.memory.id)
    assert made.store.get(told.memory.id, touch=False) == replace(told.memory, checked=True, version=2)


@pytest.mark.parametrize("opinion", [{"same": 0.97}, {"distinct": 1.0}, {"conflict": 0.97}])
@pytest.mark.parametrize("judged", [True, False])
def test_undoing_a_write_takes_its_judging_back_too(late, opinion, judged):
    """By the number that the write gave, whenever it is judged; and the undo can be undone."""
    made = late(**opinion)
    before = picture(made.store)
    told = made.store.remember(NEW, kind="fact")
    if judged:
        made.store.judge_waiting()
    then = picture(made.store)
    taken = made.store.undo(told.entry)
    assert picture(made.store) == before
    with pytest.raises(IllegalTransition, match="taken back"):
        made.store.undo(told.entry)
    made.store.undo(taken)
    made.store.sweep()
    assert (picture(made.store) == then) is judged or waits(made.store) == 0
    assert made.store.verify() == ()


def test_an_act_that_somebody_takes_back_is_not_done_again(late):
    """Of the two entries of a late act the second is undone, then the first: the text is stored as it was."""
    made = late()
    made.store.remember(NEW, kind="fact")
    made.store.judge_waiting()
    taken_up, again = made.store.journal()[-2:]
    assert (taken_up.outcome, again.outcome) == ("taken_up", "restated")
    made.store.undo(again.seq)
    made.store.undo(taken_up.seq)
    assert (made.store.judge_waiting().judged, made.store.stats().waiting) == (0, 0)
    made.store.sweep()
    assert (statuses(made.store), waits(made.store)) == ([(OLD, "active"), (NEW, "active")], 0)


def test_what_the_rules_decide_is_decided_at_once(late):
    """A repeat, and a new value for the same subject; the model is not asked about the repeat."""
    made = late()
    assert made.store.remember(OLD, kind="fact").outcome == "duplicate"
    made.store.remember("Tea costs 3 euros.", kind="fact", subject="tea", attribute="price")
    told = made.store.remember("Tea costs 4 euros.", kind="fact", subject="tea", attribute="price")
    assert (told.outcome, told.degraded) == ("superseded", ())


def test_a_write_that_acts_on_a_waiting_one_has_it_judged_first(late):
    """The repeat of a waiting restatement confirms what that one restates."""
    made = late()
    made.store.remember(NEW, kind="fact")
    told = made.store.remember(NEW, kind="fact")
    assert (told.outcome, told.memory.content, told.memory.confirmations) == ("duplicate", OLD, 2)
    assert made.store.stats().waiting == 0


def test_a_repeat_that_no_waiting_write_concerns_lets_it_wait(late):
    made = late()
    made.store.remember("The lift is broken.", kind="fact")
    made.store.remember(NEW, kind="fact")
    assert made.store.remember("The lift is broken.", kind="fact").outcome == "duplicate"
    assert made.store.stats().waiting == 1


@pytest.mark.parametrize("answer", ["warn", "raise"])
def test_a_call_with_an_answer_to_conflicts_of_its_own_is_judged_in_the_write(late, answer):
    made = late()
    made.store.remember(THIRD, kind="fact")
    assert made.store.remember(NEW, kind="fact", on_conflict=answer).outcome == "restated"
    assert made.store.stats().waiting == 0


def test_a_check_judges_now_and_writes_nothing(late):
    made = late()
    before = made.snapshot()
    assert made.store.check(NEW, kind="fact").outcome == "restated"
    assert made.snapshot() == before


def test_an_outage_lets_the_writes_wait_until_the_model_is_back(late):
    made = late()
    model = made.options["relation_model"]
    made.store.remember(NEW, kind="fact")
    model.failure = DOWN
    assert (made.store.judge_waiting().outage, made.store.stats().waiting) == (str(DOWN), 1)
    assert made.store.remember(NEW, kind="fact").outcome == "duplicate"  # as far as it can be told
    model.failure = None
    made.store.sweep()
    assert statuses(made.store) == [(OLD, "active"), (NEW, "wording")]


def test_the_same_call_sent_again_finds_the_judged_write(late):
    made = late()
    made.store.remember(NEW, kind="fact", idempotency_key="k")
    made.store.judge_waiting()
    before = made.snapshot()
    assert made.store.remember(NEW, kind="fact", idempotency_key="k").message.startswith("Already done")
    assert made.snapshot() == before


def test_a_memory_that_was_edited_or_forgotten_before_is_not_taken_back(late):
    made = late()
    edited = made.store.remember(NEW, kind="fact").memory
    gone = made.store.remember(THIRD, kind="fact").memory
    made.store.revise(edited.id, tags=("billing",))
    made.store.forget(gone.id)
    assert made.store.judge_waiting().judged == 0
    made.store.sweep()
    assert made.store.get(edited.id, touch=False).checked
    assert made.store.get(gone.id, touch=False).status == "archived"


def test_a_dropped_text_that_others_link_to_stays_behind_what_it_repeats(late):
    fact = replace(LATER.kinds["fact"], repeats="drop")
    made = late(replace(LATER, kinds={**LATER.kinds, "fact": fact}))
    told = made.store.remember(NEW, kind="fact")
    made.store.remember("The tea is upstairs.", kind="fact", links=(told.memory.id,))
    assert made.store.judge_waiting() == type(made.store.judge_waiting())(judged=2, changed=1)
    assert made.store.get(told.memory.id, touch=False).status == "superseded"
    assert made.store.verify() == ()


def test_uses_and_links_of_a_waiting_memory_are_kept(late):
    made = late(conflict=0.97)
    plan = made.store.remember("Tea is upstairs.", kind="fact").memory
    told = made.store.remember(NEW, kind="fact", links=(plan.id,)).memory
    made.store.get(told.id)
    made.store.judge_waiting()
    assert made.store.get(told.id, touch=False).access_count == 1
    with made.store._ctx.storage.begin(made.store.namespace, write=False) as tx:
        assert (told.id, plan.id, "related") in [(one.src, one.dst, one.rel) for one in tx.links((told.id,))]


def test_a_store_of_another_policy_leaves_nothing_waiting(late):
    made = late()
    made.store.remember(NEW, kind="fact")
    made.store._ctx = replace(made.store._ctx, policy=replace(LATER, judging="now"))
    assert made.store.sweep().checked == 1
    assert statuses(made.store) == [(OLD, "active"), (NEW, "wording")]


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_a_replay_under_the_same_policy_differs_in_nothing(backend, tmp_path):
    """A late decision is replayed where it was made; what still waits is not replayed."""
    made = store_of(backend, tmp_path, "later", ask=0)
    for place, (text, fields) in enumerate(stream(5, 24)):
        made.clock.advance(minutes=1)
        made.store.remember(text, **fields)
        if place % 8 == 7:
            made.store.judge_waiting()
    report = made.store.replay(made.store._ctx.policy)
    assert (report.differences, report.unreplayed) == ((), ())
    assert report.decisions == 24
    forward = made.store.replay(made.store._ctx.policy, forward=True)
    assert (forward.differences, forward.unreplayed) == ((), ())
    assert forward.active == (made.store.stats().memories["active"],) * 2
    made.clock.advance(minutes=1)
    made.store.remember("The office in Rome has a green door.", kind="fact")
    assert [one.why for one in made.store.replay(made.store._ctx.policy).unreplayed] == ["it was not judged"]
    made.store.close()


def test_an_export_of_waiting_memories_is_judged_where_it_is_imported(late, tmp_path):
    made = late()
    made.store.remember(NEW, kind="fact")
    made.store.export(tmp_path / "out.jsonl")
    other = made.store.in_namespace("other")
    other.import_(tmp_path / "out.jsonl")
    assert waits(other) == 1
    other.sweep()
    assert waits(other) == 0
    assert NEW not in [row.content for row in other.list()]


def test_a_batch_waits_as_a_whole(late):
    made = late()
    told = made.store.remember_many([{"content": NEW, "kind": "fact"}, {"content": THIRD, "kind": "fact"}])
    assert [one.degraded for one in told.results] == [("judging",)] * 2
    assert made.store.judge_waiting(limit=1).left == 1
    assert made.store.judge_waiting().left == 0
    assert statuses(made.store)[:2] == [(OLD, "active"), (NEW, "wording")]


def test_a_login_that_may_not_have_the_jobs_serves_all_the_same(late, caplog):
    def forbidden():
        raise NotPermitted("jobs are the owner's")

    made = late()
    with judging_everywhere(made.store._ctx, forbidden):
        made.store.remember(NEW, kind="fact")
    assert waits(made.store) and "judged by a process of the owner" in caplog.text
    with judging_everywhere(replace(made.store._ctx, policy=replace(made.store._ctx.policy, judging="now")), forbidden):
        pass  # where nothing is put off, the jobs are not looked at


@pytest.mark.parametrize("limit", ["x", -1, 1.5, True])
def test_a_limit_that_is_none_is_refused(late, limit):
    with pytest.raises(InvalidField, match="whole number above 0"):
        late().store.judge_waiting(limit=limit)


@pytest.mark.parametrize("every", ["x", -1, 0, float("inf"), True])
def test_a_pause_that_is_none_is_refused(late, every):
    with pytest.raises(InvalidField, match="seconds above 0"), late().store.judging(every=every):
        raise AssertionError("not reached")


@pytest.mark.parametrize("how", ["own namespace", "everywhere"])
def test_a_thread_judges_within_a_second(late, how):
    made = late()
    ctx = made.store._ctx
    thread = (
        made.store.judging(every=0.05) if how == "own namespace" else judging_everywhere(ctx, lambda: queue_of(ctx))
    )
    with thread:
        made.store.remember(NEW, kind="fact")
        began = time.monotonic()
        while waits(made.store) and time.monotonic() - began < 20:
            time.sleep(0.02)
        assert waits(made.store) == 0
    assert statuses(made.store) == [(OLD, "active"), (NEW, "wording")]


def test_a_job_judges_and_is_not_due_again_by_its_own_entries(late):
    made = late()
    made.store.remember(NEW, kind="fact")
    ctx = made.store._ctx
    queue, judge = queue_of(ctx), chosen(("judge",), among=errands(Settings(later=True)))
    told = [list(work(ctx, queue, judge, stop=threading.Event(), once=True)) for _ in range(2)]
    assert [[(one.state, dict(one.report)) for one in each] for each in told] == [
        [("done", {"judged": 1, "changed": 1})],
        [],
    ]


def test_questions_are_asked_when_a_write_is_judged(make, tmp_path):
    made = unsure("memory", tmp_path, policy=replace(Policy(), judging="later", ask=100))
    made.store.remember(OLD)
    told = made.store.remember(NEW)
    assert (told.question, made.store.questions()) == (None, ())
    made.store.judge_waiting()
    assert [one.memory.id for one in made.store.questions()] == [told.memory.id]
    made.store.close()


def test_without_a_model_nothing_waits(tmp_path):
    with wellkept.open("memory:", embedder="hashing", relation_model="none", policy=LATER) as store:
        assert all("judging" not in store.remember(text).degraded for text in (OLD, NEW))
        assert store.stats().waiting == 0
