"""Checks of questions: what a namespace remembers of them, and entries that ask and answer."""

from __future__ import annotations

from dataclasses import replace

from wellkept.errors import ReadOnly
from wellkept.storage.port import Moving
from wellkept.testing.checks.world import NS, World, at, entry, equal, expect, memory, refuses
from wellkept.types import Chance, MemoryChange, QuestionRecord

_OTHER = "acme/bob"
_TEXT = '{"open":[[3,0.5,"ab","cd"]],"note":"\u540d \\" %s"}'
_ASKED = QuestionRecord(
    memory_id="m2",
    chances=(Chance("m1", 0.4321, 0.1, 1), Chance("m3", 0.0, 1.0, 2)),
    worth=0.1234,
    expires_at=at(60),
    audited="mark",
)


def noted(world: World, *, namespace: str = NS) -> str:
    """What the namespace remembers of its questions."""
    with world.store.begin(namespace, write=False) as tx:
        return tx.asking()


def what_is_noted_of_questions_is_kept_as_it_was(world: World) -> None:
    """Empty at first, seen by its own transaction, replaced as a whole, per namespace."""
    equal(noted(world), "", "nothing is noted at first")
    with world.store.begin(NS, write=True) as tx:
        equal(tx.asking(), "", "of a new namespace")
        tx.note_asking("first")
        equal(tx.asking(), "first", "before the first entry")
        tx.apply(entry(MemoryChange(None, memory("m1"))))
        tx.note_asking(_TEXT)
        equal(tx.asking(), _TEXT, "in its own transaction")
    equal(noted(world), _TEXT, "kept to the letter")
    equal(noted(world, namespace=_OTHER), "", "nothing elsewhere")
    with world.store.begin(_OTHER, write=True) as tx:
        tx.apply(entry(MemoryChange(None, memory("m1", namespace=_OTHER))))
        tx.note_asking("other")
    equal((noted(world), noted(world, namespace=_OTHER)), (_TEXT, "other"), "each has its own")
    with world.store.begin(NS, write=True) as tx:
        tx.note_asking("")
        equal(tx.seq, 1, "no entry is written")
    equal((noted(world), len(world.journal())), ("", 1), "emptied again")


def a_failed_transaction_leaves_what_was_noted(world: World) -> None:
    """It changes with the transaction, or not at all."""
    world.add(memory("m1"))
    with world.store.begin(NS, write=True) as tx:
        tx.note_asking("kept")

    def failing() -> None:
        with world.store.begin(NS, write=True) as tx:
            tx.apply(entry(MemoryChange(None, memory("m2"))))
            tx.note_asking("lost")
            raise RuntimeError("on purpose")

    refuses(RuntimeError, failing, "the error is passed on")
    equal((noted(world), len(world.journal())), ("kept", 1), "as before")
    with world.store.begin(NS, write=False) as tx:
        reading = tx
        refuses(ReadOnly, lambda: reading.note_asking("x"), "in a reading transaction")
    equal(noted(world), "kept", "still")


def a_reader_sees_what_was_noted_when_it_began(world: World) -> None:
    """Questions and entries are of one moment."""
    world.add(memory("m1"))
    with world.store.begin(NS, write=False) as reading:
        equal(reading.seq, 1, "it has begun")
        with world.store.begin(NS, write=True) as tx:
            tx.apply(entry(MemoryChange(None, memory("m2"))))
            tx.note_asking("later")
        equal((reading.asking(), len(reading.journal())), ("", 1), "the snapshot")
    equal(noted(world), "later", "for the next")


def what_is_noted_is_there_after_a_store_is_reopened(world: World) -> None:
    """As lasting as the entries."""
    with world.store.begin(NS, write=True) as tx:
        tx.apply(entry(MemoryChange(None, memory("m1")), asks=_ASKED))
        tx.note_asking(_TEXT)
    world.reopen()
    equal(noted(world), _TEXT, "what was noted")
    equal([one.asks for one in world.journal()], [_ASKED], "the question")


def restoring_afresh_forgets_what_was_noted(world: World) -> None:
    """Only of its own namespace; a restore that continues leaves it."""
    for namespace in (NS, _OTHER):
        with world.store.begin(namespace, write=True) as tx:
            tx.apply(entry(MemoryChange(None, memory("m1", namespace=namespace))))
            tx.note_asking("noted")
    made = entry(MemoryChange(None, memory("m2")), seq=2)
    for afresh, expected in ((False, "noted"), (True, "")):
        with world.store.begin(NS, write=True) as tx:
            expect(isinstance(tx, Moving), "the transaction has restore (storage.port.Moving)")
            if isinstance(tx, Moving):
                tx.restore([replace(made, seq=1) if afresh else made], afresh=afresh)
        equal(noted(world), expected, f"afresh {afresh}")
    equal(noted(world, namespace=_OTHER), "noted", "elsewhere")


def entries_that_ask_and_answer_come_back_whole(world: World) -> None:
    """They hold ids and numbers only, so that they also outlast an erasure."""
    rows = [world.add(memory(f"m{number}")) for number in (1, 2, 3)]
    bare = QuestionRecord(memory_id="m3", chances=(Chance("m1", 0.5, 0.0, 1),), worth=0.5)
    world.apply(memory_id="m2", memory_ids=("m2", "m1", "m3"), asks=_ASKED)
    world.apply(memory_id="m3", memory_ids=("m3",), asks=bare)
    world.apply(verb="answer", outcome="new", memory_id="m2", memory_ids=("m2",), answers=4)
    expected = [(None, 0)] * 3 + [(_ASKED, 0), (bare, 0), (None, 4)]
    equal([(one.asks, one.answers) for one in world.journal()], expected, "as written")
    equal([one.answers for one in world.journal(memory_ids=("m2",), after=4)], [4], "found by memory")
    with world.store.begin(NS, write=True) as tx:
        tx.erase(["m2"], entry(verb="erase", outcome="erased", memory_id="m2", memory_ids=("m2",), at=at(99)))
    equal([(one.asks, one.answers) for one in world.journal()], [*expected, (None, 0)], "after an erasure")
    equal([world.get(one.id) for one in (rows[0], rows[2])], [rows[0], rows[2]], "the others")
    equal(world.store.verify(), [], "sound")


CHECKS = (
    what_is_noted_of_questions_is_kept_as_it_was,
    a_failed_transaction_leaves_what_was_noted,
    a_reader_sees_what_was_noted_when_it_began,
    what_is_noted_is_there_after_a_store_is_reopened,
    restoring_afresh_forgets_what_was_noted,
    entries_that_ask_and_answer_come_back_whole,
)
