"""Checks of moving a namespace to another store, exactly and without decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wellkept.errors import InvalidField, ReadOnly
from wellkept.storage.port import Moving, Stale, Tx
from wellkept.testing.checks.world import (
    NS,
    World,
    at,
    changed,
    conflict,
    entry,
    equal,
    expect,
    memory,
    one,
    refuses,
    vector,
)
from wellkept.types import (
    ALL_STATUSES,
    AliasChange,
    ConflictChange,
    Effect,
    Filter,
    JournalEntry,
    Link,
    LinkChange,
    MemoryChange,
    Reason,
)

if TYPE_CHECKING:
    from wellkept.types import Vector


def moving(tx: Tx) -> Moving:
    """The transaction as `Moving`."""
    if not isinstance(tx, Moving):
        raise AssertionError("the transaction has no aliases and restore (storage.port.Moving)")
    return tx


def restored(
    world: World,
    entries: Sequence[JournalEntry],
    *,
    loose: Sequence[Effect] = (),
    vectors: Mapping[str, Vector] | None = None,
    afresh: bool = False,
    namespace: str = NS,
) -> int:
    """Restore in a separate transaction."""
    with world.store.begin(namespace, write=True) as tx:
        return moving(tx).restore(entries, loose=loose, vectors=vectors, afresh=afresh)


def pairs_of_hash_and_memory_are_read_in_the_order_of_code_points(world: World) -> None:
    """Two stores are compared pair by pair, independent of a server's collation."""
    for memory_id, hashes in (("m1", ("b", "Z")), ("m2", ("é", "a", "b")), ("m3", ("_", "名"))):
        world.add(memory(memory_id), hashes=hashes)
    expected = sorted([("b", "m1"), ("Z", "m1"), ("é", "m2"), ("a", "m2"), ("b", "m2"), ("_", "m3"), ("名", "m3")])
    with world.store.begin(NS, write=False) as tx:
        equal([tuple(pair) for pair in moving(tx).aliases()], expected, "all")
        equal([tuple(pair) for pair in moving(tx).aliases(limit=2)], expected[:2], "the first ones")
        equal([tuple(pair) for pair in moving(tx).aliases(after=expected[2], limit=2)], expected[3:5], "the next ones")
    with world.store.begin("acme/bob", write=False) as tx:
        equal(list(moving(tx).aliases()), [], "of an unknown namespace")


def restoring_puts_entries_and_rows_there_to_the_letter(world: World) -> None:
    """Numbers, times, reasons, usage, vectors, text, hashes, links and conflicts are restored without decisions."""
    first = memory("m1", "the piano needs tuning", embedding="e1", chunks=1)
    used = replace(first, access_count=4, last_accessed_at=at(90), stability=2.5)
    second = memory("m2", "the organ is tuned", embedding="e2", chunks=1, status="archived")
    open_one, link = conflict("k", "m1", "m2", minutes=7), Link("m2", "m1", "refines", at(3))
    entries = [
        entry(MemoryChange(None, first), AliasChange("m1", "h1", present=True), seq=1, reasons=(Reason("r", "why"),)),
        entry(MemoryChange(None, second), LinkChange(None, link), seq=2, at=at(60), run_id="run-1", verb="import"),
        entry(ConflictChange(None, open_one), seq=3, idempotency_key="key", payload="p"),
        entry(seq=4, verb="check", outcome="duplicate", memory_id="m1", memory_ids=("m1",)),
    ]
    seq = restored(world, entries, loose=[MemoryChange(first, used)], vectors={"e1": vector(1), "e2": vector(2)})
    equal(seq, 4, "the number it stands at")
    with world.store.begin(NS, write=False) as tx:
        equal(tx.seq, 4, "and that is kept")
        equal(tx.find(Filter(statuses=ALL_STATUSES)), [used, second], "rows")
        equal([one.seq for one in tx.journal()], [1, 2, 3, 4], "numbers")
        heads = [replace(one, effects=()) for one in tx.journal()]
        equal(heads, [replace(one, effects=()) for one in entries], "entries")
        equal(tx.journal()[1].effects, entries[1].effects, "effects with both ends")
        equal((tx.links(), tx.conflicts()), ([link], [open_one]), "links and conflicts")
        equal([row.id for row in tx.find(Filter(hashes=("h1",)))], ["m1"], "found by hash")
        equal([one.seq for one in tx.journal(key="key")], [3], "found by key")
        equal([one.seq for one in tx.journal(run_id="run-1")], [2], "found by run")
        equal([one.seq for one in tx.journal(memory_ids=["m1"])], [1, 2, 3, 4], "found by memory")
    equal((world.near(1), world.match("piano"), world.match("organ")), (["m1"], ["m1"], []), "searched")
    equal(world.apply(changed(used, title="on")), 5, "what is written next follows")


def restoring_compares_nothing_and_keeps_effects_that_change_nothing(world: World) -> None:
    """The state after an effect is stored; an effect without an after state deletes."""
    stored = world.add(memory("m1", "old words"), seed=1, hashes=("h1",))
    world.apply(LinkChange(None, Link("m1", "m2")), ConflictChange(None, conflict("k", "m1", "m2")))
    other = replace(stored, content="new words", version=7, status="archived")
    third = memory("m3", "third")
    effects = (
        MemoryChange(replace(other, version=6), other),
        AliasChange("m1", "h1", present=True),
        AliasChange("m9", "h9", present=False),
        LinkChange(Link("m1", "m2"), None),
        LinkChange(Link("m8", "m9"), None),
        ConflictChange(None, conflict("k", "m1", "m2", minutes=9)),
        MemoryChange(third, None),
    )
    equal(restored(world, [entry(*effects, seq=3)]), 3, "the number")
    equal(world.get("m1"), other, "the row")
    equal(world.ids(Filter(statuses=ALL_STATUSES)), ["m1"], "nothing else")
    equal(world.match("old", "new"), [], "its words")
    with world.store.begin(NS, write=False) as tx:
        equal((tx.links(), tx.conflicts()), ([], [conflict("k", "m1", "m2", minutes=9)]), "links and conflicts")
    equal(world.journal()[-1].effects, effects, "all effects are in the entry")


def restoring_takes_only_the_next_number(world: World) -> None:
    """Two concurrent restores cannot write an entry twice."""
    world.add(memory("m1"))
    for number in (1, 3, 0):
        refuses(Stale, lambda number=number: restored(world, [entry(seq=number)]), f"number {number}")  # type: ignore[misc]
    restored(world, [entry(seq=2, idempotency_key="key"), entry(seq=3)])
    refuses(Stale, lambda: restored(world, [entry(seq=4, idempotency_key="key")]), "a key that is taken")
    refuses(Stale, lambda: restored(world, [entry(seq=4), entry(seq=6)]), "a gap")
    foreign = MemoryChange(None, memory("m2", namespace="acme/bob"))
    refuses(InvalidField, lambda: restored(world, [entry(foreign, seq=4)]), "another namespace's memory")
    equal([one.seq for one in world.journal()], [1, 2, 3], "nothing of what was refused stays")
    with world.store.begin(NS, write=False) as tx:
        reading = moving(tx)
        refuses(ReadOnly, lambda: reading.restore([]), "in a reading transaction")


def restoring_afresh_leaves_nothing_of_what_was_there(world: World) -> None:
    """Other namespaces are not changed."""
    for namespace in (NS, "acme/bob"):
        row = world.add(memory("m1", "old words", namespace=namespace), seed=1, hashes=("h1",))
        world.apply(LinkChange(None, Link("m1", "m2")), namespace=namespace, idempotency_key="key")
        world.apply(ConflictChange(None, conflict("k", "m1", "m2")), namespace=namespace)
        equal(world.near(1, namespace=namespace), [row.id], "it is found before")
    new = memory("m5", "other words", embedding="e5", chunks=1)
    made = entry(MemoryChange(None, new), seq=1, idempotency_key="key")
    equal(restored(world, [made], vectors={"e5": vector(5)}, afresh=True), 1, "the number")
    with world.store.begin(NS, write=False) as tx:
        equal((tx.seq, tx.find(Filter(statuses=ALL_STATUSES))), (1, [new]), "rows")
        equal((tx.links(), tx.conflicts(), list(moving(tx).aliases())), ([], [], []), "what led to them")
        equal((list(tx.vectors(["text-of-m1"])), tx.match(["old"], limit=5)), ([], []), "vectors and words")
        equal([one.verb for one in tx.journal()], ["remember"], "entries")
        expect(one(tx, "m5") == new, "the new row")
    equal((world.near(1), world.match("words")), (["m5"], ["m5"]), "what is searched")
    equal((world.near(1, namespace="acme/bob"), len(world.journal(namespace="acme/bob"))), (["m1"], 3), "elsewhere")


def restoring_in_the_order_of_the_entries_keeps_the_order_of_full_text(world: World) -> None:
    """Among equal matches the one stored last comes first, as in the source."""
    rows = [memory(f"m{number}", "the same words", created_at=at(100 - number)) for number in range(1, 6)]
    for row in rows:
        world.apply(MemoryChange(None, row))
    world.apply(changed(rows[1], title="x"))
    world.apply(MemoryChange(rows[2], None))
    world.apply(MemoryChange(None, rows[2]))
    expected = world.match("same", limit=9)
    entries = world.journal()
    elsewhere = "acme/moved"
    moved = [replace(one, effects=tuple(_to(elsewhere, effect) for effect in one.effects)) for one in entries]
    restored(world, moved[:4], namespace=elsewhere)
    restored(world, moved[4:], namespace=elsewhere)
    equal(world.match("same", limit=9, namespace=elsewhere), expected, "the order")


def _to(namespace: str, effect: Effect) -> Effect:
    if not isinstance(effect, MemoryChange):
        return effect
    before, after = (end and replace(end, namespace=namespace) for end in (effect.before, effect.after))
    return MemoryChange(before, after)


CHECKS = (
    pairs_of_hash_and_memory_are_read_in_the_order_of_code_points,
    restoring_puts_entries_and_rows_there_to_the_letter,
    restoring_compares_nothing_and_keeps_effects_that_change_nothing,
    restoring_takes_only_the_next_number,
    restoring_afresh_leaves_nothing_of_what_was_there,
    restoring_in_the_order_of_the_entries_keeps_the_order_of_full_text,
)
