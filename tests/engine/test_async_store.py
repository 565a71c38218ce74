"""`AsyncMemoryStore`: the same verbs, awaited; whole or not at all when cancelled (design §2)."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

import wellkept
from stores import desk, snapshot
from wellkept.engine.base.context import MoreOptions, OpenOptions
from wellkept.engine.queue.deferred import Queue
from wellkept.engine.verbs.asynchronous import AsyncMemoryStore, AsyncQueue
from wellkept.errors import NotFound, StorageError
from wellkept.types import ALL_STATUSES, Filter

BOUND_AT_ONCE = {"in_namespace", "in_session", "deferred", "judging"}
"""Verbs that only give another object, and so are not awaited."""

WIDER = ("answer_with", "model")
"""The one argument that takes more when awaited: a coroutine function too."""


def verbs(kind):
    return {name: value for name, value in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


@pytest.fixture
def table(tmp_path):
    made = desk("sqlite", tmp_path)
    yield made
    made.store.close()


# --------------------------------------------------------------------------------------------
# Parity


def test_both_have_the_same_verbs_and_properties():
    assert verbs(AsyncMemoryStore).keys() == verbs(wellkept.MemoryStore).keys()
    ours, theirs = (
        {name for name, _ in inspect.getmembers(kind, lambda one: isinstance(one, property)) if name[0] != "_"}
        for kind in (AsyncMemoryStore, wellkept.MemoryStore)
    )
    assert ours == theirs


@pytest.mark.parametrize("name", sorted(verbs(wellkept.MemoryStore)))
def test_a_verb_takes_the_same_arguments_and_is_awaited(name):
    ours, theirs = getattr(AsyncMemoryStore, name), getattr(wellkept.MemoryStore, name)

    def parameters(verb):
        given = inspect.signature(verb).parameters
        return [one.replace(annotation="") if (name, one.name) == WIDER else one for one in given.values()]

    assert parameters(ours) == parameters(theirs)
    assert inspect.iscoroutinefunction(ours) is (name not in BOUND_AT_ONCE)
    assert len((ours.__doc__ or "").split()) >= 3


def test_opening_takes_the_same_options():
    named = set(inspect.signature(wellkept.open).parameters) - {"url", "more"}
    assert named | set(MoreOptions.__annotations__) == set(OpenOptions.__annotations__)


def test_a_day_of_work_leaves_the_same_store_and_gives_the_same_answers(tmp_path):
    """Every answer and every row, journal included."""

    def work(store):
        first = store.remember("Never trade weekends.", kind="lesson", title="Weekends")
        yield first
        again = yield store.remember("never trade weekends", kind="lesson")
        yield store.remember_many(["one", {"content": "See [[Weekends]].", "kind": "thesis"}, ""])
        yield store.check("two")
        yield store.recall("weekends", limit=3, touch=False)
        yield store.list(Filter(statuses=ALL_STATUSES), limit=2)
        yield store.journal(newest=3)
        yield store.stats()
        yield store.undo(1 if again is None else 1)

    async def drive(store):
        answers = []
        steps = work(store)
        try:
            call = next(steps)
            while True:
                try:
                    answer = await call if inspect.isawaitable(call) else call
                except wellkept.WellkeptError as error:
                    answer = str(error)
                answers.append(answer)
                call = steps.send(answer)
        except StopIteration:
            return answers

    class Sync:
        """The plain store; an error is an answer here too."""

        def __init__(self, store):
            self._store = store

        def __getattr__(self, name):
            def call(*args, **kwargs):
                try:
                    return getattr(self._store, name)(*args, **kwargs)
                except wellkept.WellkeptError as error:
                    return str(error)

            return call

    one, two = (desk("memory", tmp_path) for _ in range(2))
    plain = asyncio.run(drive(Sync(one.store)))
    awaited = asyncio.run(drive(AsyncMemoryStore(two.store)))
    assert len(plain) == 9 and awaited == plain
    assert snapshot(one.store) == snapshot(two.store)


# --------------------------------------------------------------------------------------------
# Many tasks


def test_many_tasks_that_say_the_same_things_leave_one_row_for_each(table):
    """I3: I/O of many tasks at once, repeats among them."""

    async def work():
        store = AsyncMemoryStore(table.store)
        await asyncio.gather(*(store.remember(f"lesson {number % 7}", kind="lesson") for number in range(60)))
        return [row.content for row in await store.list()]

    assert sorted(asyncio.run(work())) == [f"lesson {number}" for number in range(7)]
    assert table.store.verify() == ()


def test_the_event_loop_goes_on_while_a_call_works(table):
    """A verb that blocks its thread blocks nothing else."""
    begun, release = threading.Event(), threading.Event()
    embed = table.fake.embed

    def slow(texts):
        begun.set()
        release.wait(30)
        return embed(texts)

    table.fake.embed = slow

    async def work():
        store = AsyncMemoryStore(table.store)
        writing = asyncio.create_task(store.remember("one"))
        await asyncio.to_thread(begun.wait, 30)
        meanwhile = await store.list()  # another thread of the pool
        release.set()
        return meanwhile, (await writing).outcome

    assert asyncio.run(work()) == ((), "created")


def test_it_can_be_used_from_one_event_loop_after_another(table):
    store = AsyncMemoryStore(table.store)
    assert [asyncio.run(store.remember("one")).outcome for _ in range(2)] == ["created", "duplicate"]


def test_errors_come_to_the_one_who_awaits(table):
    store = AsyncMemoryStore(table.store)
    with pytest.raises(NotFound):
        asyncio.run(store.get("nobody"))


# --------------------------------------------------------------------------------------------
# Cancellation


@pytest.mark.parametrize("begun", [True, False], ids=["it has begun", "it waits for its turn"])
def test_a_cancelled_write_happens_wholly_or_not_at_all(table, begun):
    """Nothing half written, and the store answers the next call."""
    started, release = threading.Event(), threading.Event()
    embed = table.fake.embed

    def slow(texts):
        started.set()
        release.wait(30)
        return embed(texts)

    table.fake.embed = slow

    async def work():
        store = AsyncMemoryStore(table.store, threads=1)
        first = asyncio.create_task(store.remember("first"))
        await asyncio.to_thread(started.wait, 30)
        second = asyncio.create_task(store.remember("second"))
        await asyncio.sleep(0)  # it has been handed to the threads, of which none is free
        chosen = first if begun else second
        chosen.cancel()
        with pytest.raises(asyncio.CancelledError):
            await chosen
        release.set()
        await (second if begun else first)
        return [row.content for row in await store.list()]

    assert asyncio.run(work()) == (["first", "second"] if begun else ["first"])
    assert table.store.verify() == ()


def test_cancelling_at_any_moment_leaves_whole_entries_and_a_store_that_works(table):
    """Whatever was cut off, rows and journal tell the same story, and each write is there at most once."""

    async def work():
        store = AsyncMemoryStore(table.store, threads=3)
        for turn in range(12):
            tasks = [asyncio.create_task(store.remember(f"note {turn} {n}", kind="note")) for n in range(6)]
            for _ in range(turn):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError | wellkept.WriteResult) for one in done)
        outcome = (await store.remember("the end")).outcome
        store._threads.end()  # what was cut off may go on in its thread
        return outcome

    assert asyncio.run(work()) == "created"
    rows = [row.content for row in table.store.list()]
    assert len(rows) == len(set(rows)) == sum(entry.outcome == "created" for entry in table.store.journal())
    assert table.store.verify() == ()


def test_closing_waits_for_a_write_that_was_cancelled_but_has_begun(table):
    """The file is not taken away under a transaction."""
    started, release = threading.Event(), threading.Event()
    embed = table.fake.embed

    def slow(texts):
        started.set()
        release.wait(30)
        return embed(texts)

    table.fake.embed = slow

    async def work():
        store = AsyncMemoryStore(table.store)
        writing = asyncio.create_task(store.remember("one"))
        await asyncio.to_thread(started.wait, 30)
        writing.cancel()
        closing = asyncio.create_task(store.close())
        release.set()
        await closing
        await store.close()  # safe to call twice
        with pytest.raises(StorageError):
            await store.list()

    asyncio.run(work())
    again = wellkept.open(str(table.path), embedder=table.fake)
    assert [row.content for row in again.list()] == ["one"]
    again.close()


# --------------------------------------------------------------------------------------------
# Bound stores and the queue


def test_a_store_bound_to_a_namespace_or_session_is_awaited_too(table):
    async def work():
        store = AsyncMemoryStore(table.store)
        await store.in_namespace("acme/bob").remember("one")
        chat = store.in_session("chat")
        await chat.remember("two", kind="decision")
        await chat.pack("two")
        return (
            await store.list(),
            store.in_namespace("acme/bob").namespace,
            (await chat.remember("TWO", kind="decision")),
        )

    rows, name, told = asyncio.run(work())
    assert [row.content for row in rows] == ["two"] and name == "acme/bob" and told.outcome == "duplicate"


def test_a_block_puts_off_the_writes_of_its_own_task_only(table):
    """S0-43: two conversations in one event loop do not hold each other's writes back."""

    async def thinking(store, ready, go):
        async with store.deferred():
            answer = await store.remember("one", kind="thesis")
            ready.set()
            await go.wait()
        return answer.outcome

    async def work():
        store, ready, go = AsyncMemoryStore(table.store), asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(thinking(store, ready, go))
        await ready.wait()
        direct = await store.remember("two", kind="thesis")
        meanwhile = [row.content for row in await store.list()]
        go.set()
        return await task, direct.outcome, meanwhile

    assert asyncio.run(work()) == ("queued", "created", ["two"])
    assert [row.content for row in table.store.list()] == ["two", "one"]


def test_the_queue_has_the_same_verbs_awaited():
    """What `put` takes are values of the engine; a length that is read from a file cannot be awaited."""
    ours, theirs = verbs(AsyncQueue), verbs(Queue)
    assert ours.keys() == theirs.keys() - {"put"}
    for name, verb in ours.items():
        assert inspect.signature(verb) == inspect.signature(theirs[name]) and inspect.iscoroutinefunction(verb), name


def test_the_queue_of_a_conversation_is_listed_dropped_and_flushed(table):
    """S0-45."""

    async def work():
        chat = AsyncMemoryStore(table.store).in_session("chat").queue
        for text, links in (("one", []), ("two", []), ("three", ["nobody"])):
            await chat.remember(text, kind="thesis", links=links)
        waiting = await chat.pending()
        await chat.drop(waiting[0].id)
        told = await chat.flush()
        failed = await chat.failed()
        with pytest.raises(NotFound):
            await chat.drop(waiting[0].id)
        return len(waiting), [result.outcome for result in told.results], [one.attempts for one in failed]

    assert asyncio.run(work()) == (3, ["created"], [1])
    assert [row.content for row in table.store.list()] == ["two"]


def test_a_block_gives_the_queue_that_collects(table):
    async def work():
        store = AsyncMemoryStore(table.store)
        async with store.deferred() as queue:
            await store.remember("one", kind="thesis")
            return len(await queue.pending())

    assert asyncio.run(work()) == 1
    assert [row.content for row in table.store.list()] == ["one"]


def test_a_cancelled_block_keeps_what_was_acknowledged_in_the_queue(table):
    """I1: being cancelled is no reason to lose it; the next flush writes it."""

    async def work():
        store, ready = AsyncMemoryStore(table.store), asyncio.Event()

        async def thinking():
            async with store.deferred():
                await store.remember("one", kind="thesis")
                ready.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(thinking())
        await ready.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(work())
    assert table.store.list() == () and len(table.store.queue) == 1
    table.store.queue.flush()
    assert [row.content for row in table.store.list()] == ["one"]


def test_a_task_that_outlives_its_block_writes_at_once(table):
    """B-27."""

    async def work():
        store, ended = AsyncMemoryStore(table.store), asyncio.Event()

        async def later():
            await ended.wait()
            return await store.remember("late", kind="thesis")

        async with store.deferred():
            task = asyncio.create_task(later())
            await store.remember("early", kind="thesis")
        ended.set()
        return (await task).outcome, [row.content for row in await store.list()]

    assert asyncio.run(work()) == ("created", ["early", "late"])


def test_a_generator_that_another_task_closes_in_its_block_loses_nothing(table):
    """A server drops a stream when its client goes away."""

    async def work():
        store = AsyncMemoryStore(table.store)

        async def stream():
            async with store.deferred():
                await store.remember("one", kind="thesis")
                yield

        turns = stream()
        await anext(turns)
        await asyncio.create_task(turns.aclose())
        return [row.content for row in await store.list()]

    assert asyncio.run(work()) == ["one"]


def test_opening_for_asyncio_gives_an_open_store():
    async def work():
        async with await wellkept.open_async("memory:", embedder="hashing", namespace="a/b") as store:
            return (await store.remember("one")).outcome, store.namespace

    assert asyncio.run(work()) == ("created", "a/b")


def test_the_library_itself_loads_no_event_loop():
    """`import wellkept` stays light (design §11)."""
    import subprocess
    import sys

    script = "import sys, wellkept; wellkept.open('memory:', embedder='hashing'); print('asyncio' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
