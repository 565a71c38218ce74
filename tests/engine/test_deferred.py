"""Writing later: the queue of source 000 (S0-29, S0-43 to S0-45, B-27)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextvars import copy_context

import pytest

from stores import desk
from wellkept.engine.queue.deferred import MAX_ATTEMPTS
from wellkept.errors import Busy, ModelUnavailable, NotFound, UnknownKind
from wellkept.policy import DEFAULT_KINDS, Policy

NEVER_WAITS = sorted(kind for kind, policy in DEFAULT_KINDS.items() if policy.delivery == "sync")


def contents(table):
    return [memory.content for memory in table.store.list()]


# --------------------------------------------------------------------------------------------
# Which writes wait, and what they answer


def test_exactly_the_insights_never_wait():
    """S0-43."""
    assert NEVER_WAITS == ["curiosity", "lesson"]


@pytest.mark.parametrize("kind", sorted(DEFAULT_KINDS))
def test_inside_a_block_insights_are_stored_at_once_and_all_others_wait(make, kind):
    """S0-43, S0-44: Stored or Duplicate for insights, Queued for the rest."""
    table = make()
    with table.store.deferred():
        answer = table.store.remember("Never trade weekends.", kind=kind, title="Weekends")
        inside = contents(table)
    if kind in NEVER_WAITS:
        assert answer.message.startswith('Stored: "Weekends"') and inside == ["Never trade weekends."]
    else:
        assert (answer.outcome, answer.memory, answer.message) == ("queued", None, 'Queued: "Weekends"')
        assert inside == []
    assert contents(table) == ["Never trade weekends."]


def test_a_repeated_insight_inside_a_block_is_told_at_once(make):
    """S0-44: an answer that was given cannot be retracted later."""
    table = make()
    with table.store.deferred():
        table.store.remember("Never trade weekends.", kind="lesson")
        answer = table.store.remember("never trade weekends", kind="lesson")
    assert answer.outcome == "duplicate" and answer.message.startswith("Duplicate: already stored")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Funding flips first.", 'Queued: "T"'),
        ("See [[Risk rules]].", 'Queued: "T" (will link: Risk rules)'),
        ("See [[Risk rules]], [[Weekends|them]], [[risk rules]].", 'Queued: "T" (will link: Risk rules, Weekends)'),
    ],
)
def test_the_answer_of_a_queued_text_is_that_of_the_source(make, content, message):
    """S0-45, to the letter."""
    table = make()
    with table.store.deferred():
        assert table.store.remember(content, kind="thesis", title="T").message == message


def test_a_kind_that_does_not_read_names_promises_no_links(make):
    """S0-45: nothing is announced that will not be done."""
    table = make(policy=Policy.from_toml("[kinds.thesis]\nwikilinks = false\n"))
    with table.store.deferred():
        assert table.store.remember("See [[A]].", kind="thesis", title="T").message == 'Queued: "T"'


def test_a_text_that_cannot_be_used_is_refused_at_once(make):
    """S0-6: invalid input is refused at once, while the agent can correct it."""
    table = make()
    with table.store.deferred() as queue:
        with pytest.raises(UnknownKind):
            table.store.remember("x", kind="lessson")
        assert len(queue) == 0


# --------------------------------------------------------------------------------------------
# The flush


def test_what_waited_is_written_in_its_order_through_the_same_gate(make):
    """S0-29, I5: repeats among the waiting are found, links by name are made, in both directions."""
    table = make()
    with table.store.deferred():
        table.store.remember("See [[Second]].", kind="thesis", title="First")
        table.store.remember("Use ruff for linting.", kind="note")
        table.store.remember("See [[First]].", kind="thesis", title="Second")
        table.store.remember("use ruff for linting", kind="note")
    assert contents(table) == ["See [[Second]].", "Use ruff for linting.", "See [[First]]."]
    first, _, second = table.store.list()
    assert {item.memory.id for item in table.store.neighbors(first.id)} == {second.id}
    assert [entry.outcome for entry in table.store.journal()] == ["created", "created", "created", "duplicate"]


def test_what_was_said_earlier_does_not_overrule_what_was_said_while_it_waited(make):
    """B-35: the time of a statement is when it was said, not when it came out of the queue."""
    table = make()
    with table.store.deferred():
        table.store.remember("status PLANNED", kind="fact", subject="006")
        table.clock.advance(minutes=5)
        # another process, which queues nothing, is ahead of us
        thread = threading.Thread(target=lambda: table.store.remember("is shipped", kind="fact", subject="006"))
        thread.start()
        thread.join()
        table.clock.advance(minutes=5)
    assert contents(table) == ["is shipped"]


def test_a_batch_inside_a_block_waits_where_it_may(make):
    table = make()
    with table.store.deferred():
        batch = table.store.remember_many(
            [{"content": "one", "kind": "thesis"}, {"content": "two", "kind": "lesson"}, {"content": ""}]
        )
        assert dict(batch.counts) == {"queued": 1, "created": 1} and len(batch.errors) == 1
    assert sorted(contents(table)) == ["one", "two"]


def test_an_error_in_the_block_loses_nothing_that_was_acknowledged(make):
    table = make()
    with pytest.raises(RuntimeError, match="the agent failed"), table.store.deferred():
        table.store.remember("one", kind="thesis")
        raise RuntimeError("the agent failed")
    assert contents(table) == ["one"]


def test_inner_blocks_leave_the_flush_to_the_outer_one(make):
    table = make()
    with table.store.deferred():
        with table.store.deferred():
            table.store.remember("one", kind="thesis")
        assert contents(table) == []
    assert contents(table) == ["one"]


def test_a_block_collects_in_its_own_thread_only(make):
    """Two conversations in one process do not hold each other's writes back."""
    table = make()
    with table.store.deferred():
        thread = threading.Thread(target=lambda: table.store.remember("one", kind="thesis"))
        thread.start()
        thread.join()
        assert contents(table) == ["one"]


def test_what_outlives_its_block_writes_at_once_from_then_on(make):
    """B-27: a task started in a block must not get "Queued" from a queue that is never flushed."""
    table = make()
    with table.store.deferred():
        outlives = copy_context()
        assert outlives.run(table.store.remember, "one", kind="thesis").outcome == "queued"
    assert outlives.run(table.store.remember, "two", kind="thesis").outcome == "created"
    batch = outlives.run(table.store.remember_many, [{"content": "three", "kind": "thesis"}])
    assert dict(batch.counts) == {"created": 1}
    assert contents(table) == ["one", "two", "three"]


def test_a_generator_that_is_dropped_in_its_block_loses_nothing_that_was_acknowledged(make):
    table = make()

    def turns():
        with table.store.deferred():
            table.store.remember("one", kind="thesis")
            yield

    conversation = turns()
    next(conversation)
    conversation.close()
    assert contents(table) == ["one"]


def test_two_stores_in_one_thread_have_a_queue_each(make, tmp_path):
    table, other = make(), desk("memory", tmp_path)
    with table.store.deferred():
        other.store.remember("one", kind="thesis")
        assert contents(other) == ["one"]


def test_what_is_put_off_for_another_namespace_is_written_there(make):
    """I8."""
    table = make()
    with table.store.deferred():
        table.store.in_namespace("acme/bob").remember("one", kind="thesis")
        assert table.store.queue.pending() == ()
    assert contents(table) == []
    assert [row.content for row in table.store.in_namespace("acme/bob").list()] == ["one"]


def test_what_the_call_asked_for_holds_when_it_is_written(make):
    """S2-28: `on_conflict` of the call."""
    table = make()
    table.store.remember("Use ruff.", kind="note")
    with table.store.deferred():
        table.store.remember("Use ruff.", kind="note", on_conflict="ignore")
    assert contents(table) == ["Use ruff.", "Use ruff."]


def test_the_callers_own_key_is_kept(make):
    """I5: repeated outside the block, it is the same call."""
    table = make()
    given = {"kind": "thesis", "idempotency_key": "k1"}
    with table.store.deferred():
        table.store.remember("one", **given)
    assert "Already done" in table.store.remember("one", **given).message
    assert contents(table) == ["one"]


# --------------------------------------------------------------------------------------------
# Queues of sessions


def test_each_session_has_a_queue_of_its_own(make):
    """S0-45: a server holds one for each conversation."""
    table = make()
    ours, theirs = (table.store.in_session(name).queue for name in ("chat 1", "chat 2"))
    ours.remember("one", kind="thesis")
    theirs.remember("two", kind="thesis")
    assert [len(queue.pending()) for queue in (ours, theirs, table.store.queue)] == [1, 1, 2]
    assert [result.memory.content for result in ours.flush().results] == ["one"]
    assert contents(table) == ["one"]
    table.store.queue.flush()
    assert contents(table) == ["one", "two"]


def test_an_insight_does_not_wait_in_a_session_either(make):
    """S0-43."""
    table = make()
    assert table.store.in_session("chat").queue.remember("one", kind="lesson").outcome == "created"


def test_one_that_fails_is_listed_tried_again_and_stops_nobody(make):
    """B-27: the host only logs failures; here nothing is lost."""
    table = make()
    queue = table.store.queue
    queue.remember("one", kind="thesis", links=["nobody"])
    queue.remember("two", kind="thesis")
    told = queue.flush()
    assert [result.memory.content for result in told.results] == ["two"]
    assert [(one.statement["content"], one.attempts) for one in queue.failed()] == [("one", 1)]
    assert "NotFound" in queue.failed()[0].error and "nobody" in told.failed[0].error
    for _ in range(MAX_ATTEMPTS + 3):
        queue.flush()
    assert queue.failed()[0].attempts == MAX_ATTEMPTS
    assert queue.flush(again=True).failed[0].attempts == MAX_ATTEMPTS + 1
    queue.drop(queue.failed()[0].id)
    assert queue.pending() == ()
    with pytest.raises(NotFound):
        queue.drop("nothing")


def test_a_block_tries_its_own_writes_although_others_have_tried_them_in_vain(make):
    """A process that knows another policy and opens the store five times must not make a block leave out a write."""
    table = make()
    with table.store.deferred() as queue:
        table.store.remember("one", kind="thesis")
        for _ in range(MAX_ATTEMPTS):
            table.store._ctx.ledger.settle((), {queue.pending()[0].id: "UnknownKind"}, namespace="default")
    assert contents(table) == ["one"] and table.store.queue.pending() == ()


def test_one_that_failed_is_written_once_what_it_lacked_is_there(make):
    table = make(policy=Policy.from_toml('[kinds.note]\non_error = "raise"\n'))
    queue = table.store.queue
    queue.remember("one", kind="note")
    table.fake.fail_with = ModelUnavailable("down")
    assert len(queue.flush().failed) == 1
    table.fake.fail_with = None
    assert len(queue.flush().results) == 1
    assert contents(table) == ["one"] and queue.pending() == ()


def test_a_store_that_cannot_be_written_keeps_all_that_waits(make, monkeypatch):
    table = make()
    queue = table.store.queue
    queue.remember("one", kind="thesis")

    def busy(*args, **kwargs):
        raise Busy("another writer holds the lock")

    with monkeypatch.context() as patched:
        patched.setattr(type(table.store._ctx.storage), "begin", busy)
        if "postgres" in type(table.store._ctx.storage).__module__:
            # A flush of a database goes on with other namespaces and leaves these writes for the next one.
            assert queue.flush().results == ()
        else:
            with pytest.raises(Busy):
                queue.flush()
    assert len(queue.pending()) == 1
    queue.flush()
    assert contents(table) == ["one"]


def test_flushed_by_many_at_once_everything_is_written_once_and_in_order(make):
    """I3, I5."""
    table = make()
    queue = table.store.queue
    for number in range(20):
        queue.remember(f"thesis {number:02}", kind="thesis")
    threads = [threading.Thread(target=table.store.queue.flush) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.dropped for entry in table.store.journal()] == [None] * 20
    assert contents(table) == [f"thesis {number:02}" for number in range(20)]


# --------------------------------------------------------------------------------------------
# A crash; more of the file in test_queue_file.py


CRASH = """
import os, sys, wellkept
store = wellkept.open(sys.argv[1], embedder="hashing", relation_model="none")
with store.deferred():
    for number in range(5):
        store.remember(f"thesis {number}", kind="thesis")
    print("acknowledged", flush=True)
    os.kill(os.getpid(), 9)
"""


def test_what_was_acknowledged_survives_a_killed_process_and_is_written_at_the_next_open(tmp_path):
    """S0-45, I1: in order, each once."""
    import wellkept

    path = tmp_path / "memory.db"
    done = subprocess.run(
        [sys.executable, "-c", CRASH, str(path)], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.stdout == "acknowledged\n" and done.returncode == -9, done.stderr
    with wellkept.open(str(path), embedder="hashing", relation_model="none") as store:
        assert [row.content for row in store.list()] == [f"thesis {number}" for number in range(5)]
        assert store.verify() == ()
    assert (tmp_path / "memory.db.queue").read_bytes() == b""
