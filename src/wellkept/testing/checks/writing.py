"""Checks of writes: apply, stale decisions, undo, usage, erasure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wellkept.core.records.effects import invert
from wellkept.errors import EmbedderMismatch, InvalidField, ReadOnly
from wellkept.storage.port import Stale
from wellkept.testing.checks.world import (
    DIM,
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
    Difference,
    Filter,
    Link,
    LinkChange,
    Match,
    Memory,
    MemoryChange,
    Reason,
    Update,
)

HOSTILE = (
    "Robert'); DROP TABLE memory;--",
    'a "quoted" \' NEAR(b, 3) AND NOT c* ^d {e}:f -g +h OR',
    "%_\\ ?1 :name @x $y ;",
    "👩‍👩‍👧‍👦 🏳️‍🌈 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 e\u0301 é ﷽",
    "\u202eright to left\u202c אבג \u200f",
    "line one\nline two\ttab\r\n",
    "null None true NaN 1e309 -0.0 0x00",
    "word " * 40_000,
    "x" * 200_000,
)


def entries_are_numbered_from_one_without_gaps(world: World) -> None:
    """Each namespace has its own sequence."""
    with world.store.begin(NS, write=True) as tx:
        equal(tx.seq, 0, "nothing yet")
        equal([tx.apply(entry(MemoryChange(None, memory(f"m{n}")))) for n in (1, 2)], [1, 2], "numbers")
        equal(tx.seq, 2, "seen by the writer")
    with world.store.begin(NS, write=False) as tx:
        equal(tx.seq, 2, "and after the commit")
    equal(world.apply(), 3, "an entry without effects is numbered too")
    equal(world.store.header().namespaces, (NS,), "the namespace exists now")


def every_field_comes_back_as_it_was(world: World) -> None:
    """Extreme values; text is data whatever it looks like."""
    full = Memory(
        id="m1",
        namespace=NS,
        content="c",
        kind="fact",
        title="t",
        summary="s",
        subject="Sub",
        attribute="Att",
        agent="coder",
        tags=("b", "a", "b"),
        importance=0.1 + 0.2,
        confidence=0.0,
        polarity=-1,
        event_time=at(-1e6),
        event_end=at(0.123456),
        source="src",
        provenance=("x", "y"),
        metadata={"k": [1, 2.5, None, True, {"ü": "😀"}], "": ""},
        trigger="when",
        signals={"vix": 1e-300},
        pinned=True,
        expires_at=at(5),
        ended_at=at(6),
        status="superseded",
        superseded_by="m9",
        superseded_at=at(7),
        created_at=at(0.0000001),
        updated_at=at(8),
        version=4,
        updates=(Update(at(1), "u", 0.7654),),
        evolution_count=12,
        confirmations=3,
        last_confirmed_at=at(2),
        checked=False,
        embedding="hash",
        chunks=2,
        access_count=2**40,
        last_accessed_at=at(3),
        stability=1 / 3,
    )
    world.add(full)
    equal(world.get("m1"), full, "all fields")
    for number, text in enumerate(HOSTILE):
        row = memory(f"h{number}", text, subject=text[:99], attribute=text[:99], tags=(text[:99],), kind=text[:20])
        world.add(row, hashes=(text[:50],))
        equal(world.get(row.id), row, f"hostile text {number}")
        equal(world.ids(Filter(subject=text[:99], kinds=(text[:20],), hashes=(text[:50],))), [row.id], "by its fields")
        world.match(text[:200], "word")
    equal(world.store.verify(), [], "sound")


def a_decision_made_on_an_older_state_is_stale(world: World) -> None:
    """The `before` of each effect must equal the stored state."""
    row = world.add(memory("m1"))
    flag = conflict("k", "m1", "m2")
    world.apply(changed(row, title="new"), ConflictChange(None, flag))
    cases = {
        "an older version": MemoryChange(row, replace(row, version=2, title="other")),
        "a row that is there": MemoryChange(None, row),
        "a row that is not there": changed(memory("m2")),
        "another status": MemoryChange(replace(row, version=2, status="archived"), row),
        "another conflict": ConflictChange(replace(flag, reason="polarity"), replace(flag, resolution="dismissed")),
    }
    for name, effect in cases.items():
        refuses(Stale, lambda effect=effect: world.apply(effect), name)  # type: ignore[misc]
    equal(world.get("m1").title, "new", "nothing changed")
    equal(len(world.journal()), 2, "nothing was journaled")


def nothing_of_a_failed_transaction_stays(world: World) -> None:
    """Rows, hashes, links, conflicts, words, vectors and numbers are rolled back together."""
    kept = world.add(memory("m1", "first words"), seed=1, hashes=("h1",))
    equal(world.near(2), ["m1"], "the search is warm")
    new = replace(memory("m2", "second thing"), embedding="e2")

    def fail() -> None:
        with world.store.begin(NS, write=True) as tx:
            tx.apply(entry(MemoryChange(None, new), AliasChange("m2", "h2", present=True)), vectors={"e2": vector(2)})
            tx.apply(entry(LinkChange(None, Link("m1", "m2")), ConflictChange(None, conflict("k", "m1", "m2"))))
            tx.apply(entry(changed(kept, content="changed", embedding="e2")))
            tx.touch({"m1": (9, at(9), None)})
            found = tx.nearest(vector(2)[None, :], limit=9, statuses=("active",))[0].ids
            equal(sorted(found), ["m1", "m2"], "the writer searches its own rows")
            equal(tx.match(["second"], limit=9), ["m2"], "and its own words")
            raise KeyError("on purpose")

    refuses(KeyError, fail, "the error comes through")
    with world.store.begin(NS, write=False) as tx:
        equal(tx.find(Filter(statuses=ALL_STATUSES)), [kept], "rows")
        equal(tx.find(Filter(hashes=("h2",))), [], "hashes")
        equal((tx.links(), tx.conflicts(), tx.seq), ([], [], 1), "links, conflicts, numbers")
        equal((tx.match(["second"], limit=9), tx.match(["first"], limit=9)), ([], ["m1"]), "words")
        equal(tx.vectors(["e2"]), {}, "vectors")
        equal(tx.nearest(vector(2)[None, :], limit=9, statuses=("active",))[0].ids, ("m1",), "search")
    equal(world.add(new).id, "m2", "the id is free")


def an_undo_brings_everything_back(world: World) -> None:
    """Inverse effects restore rows, words, hashes and the vector of the earlier text."""
    first = world.add(memory("m1", "old words"), seed=1, hashes=("h1",))
    grown = changed(first, content="new words", embedding="e2", chunks=1)
    archived = changed(world.add(memory("m2", "other words"), seed=3), status="archived")
    effects = (grown, AliasChange("m1", "h2", present=True), archived, LinkChange(None, Link("m1", "m2")))
    seq = world.apply(*effects, vectors={"e2": vector(2)})
    equal((world.near(2, limit=1), world.match("old"), world.near(3)), (["m1"], [], ["m1"]), "after the change")
    taken = world.journal(seqs=[seq])[0]
    world.apply(*(invert(effect) for effect in reversed(taken.effects)), verb="undo", undoes=seq)
    equal(world.get("m1"), first, "the row")
    equal((world.match("old"), world.match("new"), world.match("other")), (["m1"], [], ["m2"]), "the words")
    equal((world.ids(Filter(hashes=("h2",))), world.ids(Filter(hashes=("h1",)))), ([], ["m1"]), "the hashes")
    with world.store.begin(NS, write=False) as tx:
        equal(tx.links(), [], "the link")
        found = tx.nearest(vector(1)[None, :], limit=1, statuses=("active",))[0]
        expect(found.ids == ("m1",) and float(found.vectors[0] @ vector(1)) > 0.999, "its first vector")
    equal(world.near(3, limit=1), ["m2"], "and the other row is searched again")


def use_changes_neither_version_nor_journal(world: World) -> None:
    """Usage is stored separately; a change of the record does not affect it."""
    row = world.add(memory("m1"))
    with world.store.begin(NS, write=True) as tx:
        tx.touch({"m1": (5, at(60), 0.25), "none": (1, at(1), None)})
        equal(one(tx, "m1").access_count, 5, "seen by the writer")
    used = replace(row, access_count=5, last_accessed_at=at(60), stability=0.25)
    equal(world.get("m1"), used, "usage")
    equal(len(world.journal()), 1, "no entry")
    world.apply(changed(row, title="t"))
    equal(world.get("m1"), replace(used, version=2, title="t"), "a change made on an older usage keeps it")
    world.apply(changed(world.get("m1"), access_count=8))
    equal(world.get("m1").access_count, 8, "an effect that means usage sets it")
    with world.store.begin(NS, write=True) as tx:
        tx.touch({"m1": (8, at(61), None)})
    equal(world.get("m1").stability, None, "None is a value")


def an_idempotency_key_is_used_once(world: World) -> None:
    """Two writers with one key: the second is stale."""
    world.apply(MemoryChange(None, memory("m1")), idempotency_key="k", payload="p")
    refuses(Stale, lambda: world.apply(MemoryChange(None, memory("m2")), idempotency_key="k"), "second use")
    equal(world.ids(Filter()), ["m1"], "nothing was written")
    other = memory("m2", namespace="other")
    world.apply(MemoryChange(None, other), idempotency_key="k", namespace="other")
    equal(world.ids(Filter(), namespace="other"), ["m2"], "another namespace has its own keys")


def wrong_values_are_refused(world: World) -> None:
    """A vector of wrong size or zero length, a row of another namespace, a write in a read transaction."""
    row = replace(memory("m1"), embedding="e")
    short = np.ones(DIM - 1, dtype=np.float32)
    none = np.zeros(DIM, dtype=np.float32)
    refuses(EmbedderMismatch, lambda: world.apply(MemoryChange(None, row), vectors={"e": short}), "size")
    refuses(InvalidField, lambda: world.apply(MemoryChange(None, row), vectors={"e": none}), "length")
    refuses(InvalidField, lambda: world.apply(MemoryChange(None, memory("m1", namespace="b"))), "namespace")

    def write_while_reading() -> None:
        with world.store.begin(NS, write=False) as tx:
            tx.apply(entry(MemoryChange(None, row)))

    refuses(ReadOnly, write_while_reading, "a reading transaction writes")
    equal((world.ids(Filter()), world.store.header().namespaces), ([], ()), "nothing was written")


def a_new_embedder_replaces_the_vectors_of_the_old_one(world: World) -> None:
    """Vectors of two embedders are never mixed; new vectors replace the old ones."""
    world.add(memory("m1"), seed=1)
    world.add(memory("m2"), seed=2)
    equal(world.near(1), ["m1", "m2"], "before")
    world.store.configure(embedder="kit/two", dim=4, policy="p2")
    header = world.store.header()
    equal((header.embedder, header.dim, header.policy), ("kit/two", 4, "p2"), "header")
    equal(world.ids(Filter(embedded=True)), [], "no row has a vector of the new one")
    query = np.array([[0.0, 1.0, 0.0, 0.0]], dtype=np.float32)
    with world.store.begin(NS, write=False) as tx:
        equal(tx.nearest(query, limit=5, statuses=("active",))[0].ids, (), "nothing to compare")
        equal(tx.vectors(["text-of-m1"]), {}, "old vectors are not given out")
    world.apply(memory_ids=("m2",), memory_id="m2", verb="repair", vectors={"text-of-m2": query[0]})
    with world.store.begin(NS, write=False) as tx:
        equal(tx.nearest(query, limit=5, statuses=("active",))[0].ids, ("m2",), "the re-embedded row")
        equal(list(tx.vectors(["text-of-m1", "text-of-m2"])), ["text-of-m2"], "only its vector")
    world.store.configure(embedder="kit/one", dim=DIM, policy="p2")
    equal(world.near(1), ["m1"], "what was replaced is gone, the rest is usable again")


def erasing_removes_everything_that_was_said(world: World) -> None:
    """Text, words, hashes, vectors, links, conflicts, and every copy in the journal."""
    secret = memory(
        "m1", "the passphrase is mellon", title="mellon", subject="gate", tags=("mellon",), metadata={"x": "mellon"}
    )
    row = world.add(secret, seed=1, hashes=("hash-mellon",))
    grown = changed(row, content="mellon was changed", embedding="e2", access_count=4)
    world.apply(grown, AliasChange("m1", "hash-mellon-2", present=True), vectors={"e2": vector(2)})
    other = replace(memory("m2", "an innocent row"), embedding="e3")
    difference = Difference("value", "mellon", "other")
    world.apply(
        MemoryChange(None, other),
        LinkChange(None, Link("m2", "m1")),
        ConflictChange(None, conflict("k", "m1", "m2", excerpt_a="mellon", differences=(difference,))),
        vectors={"e3": vector(3)},
        reasons=(Reason("rule", "mellon"),),
        matches=(Match("m1", "mellon", "ACTIVE", "vector", "variant", "connect", 0.9, 0.9, (difference,)),),
    )
    refused = replace(memory("d1", "mellon!"), embedding="e4")
    world.apply(memory_id="m1", memory_ids=("m1",), outcome="duplicate", dropped=refused, vectors={"e4": vector(4)})
    with world.store.begin(NS, write=True) as tx:
        erasure = entry(verb="erase", outcome="erased", memory_id="m1", memory_ids=("m1",), at=at(99))
        equal(tx.erase(["m1"], erasure), 5, "its number")
    left = world.get("m1")
    equal((left.status, left.content, left.kind), ("erased", "", "semantic"), "what remains")
    equal((left.created_at, left.updated_at, left.namespace), (row.created_at, at(99), NS), "with its times")
    with world.store.begin(NS, write=False) as tx:
        everything = (
            tx.find(Filter(statuses=ALL_STATUSES)),
            tx.find(Filter(hashes=("hash-mellon", "hash-mellon-2"), statuses=ALL_STATUSES)),
            tx.links(),
            tx.conflicts(),
            tx.journal(),
        )
        expect("mellon" not in repr(everything), f"nothing says it any more: {everything!r}")
        equal((everything[1], everything[2], everything[3]), ([], [], []), "hashes, links, conflicts")
        equal(list(tx.vectors(["text-of-m1", "e2", "e3", "e4"])), ["e3"], "vectors")
        equal(tx.match(["mellon", "passphrase", "gate"], limit=9), [], "words")
        equal(tx.nearest(vector(2)[None, :], limit=9, statuses=ALL_STATUSES)[0].ids, ("m2",), "search")
        equal(len(tx.journal(memory_ids=["m1"])), 5, "its history is still there")
        first, second = tx.journal(memory_ids=["m1"], newest=5)[:2]
        expect(isinstance(first.effects[0], MemoryChange), "the entry still has its effects")
        for effect in (*first.effects, *second.effects):
            ends = (effect.before, effect.after) if isinstance(effect, MemoryChange) else ()
            equal({end.content for end in ends if end}, {""}, "by tombstones")
    equal(world.get("m2"), other, "the other row is untouched")
    equal(world.store.verify(), [], "sound")


def erasing_spares_the_vector_of_another_memory_with_the_same_text(world: World) -> None:
    """Two rows of one text share a vector; it is deleted with the last row."""
    for number in (1, 2):
        world.add(memory(f"m{number}", "the same", embedding="same"), seed=1, hashes=("same",))
    with world.store.begin(NS, write=True) as tx:
        tx.erase(["m1"], entry(verb="erase", memory_id="m1", memory_ids=("m1",)))
    equal((world.near(1), world.match("same"), world.ids(Filter(hashes=("same",)))), (["m2"], ["m2"], ["m2"]), "left")
    with world.store.begin(NS, write=True) as tx:
        tx.erase(["m2"], entry(verb="erase", memory_id="m2", memory_ids=("m2",)))
    with world.store.begin(NS, write=False) as tx:
        equal(tx.vectors(["same"]), {}, "gone with the last")


CHECKS = (
    entries_are_numbered_from_one_without_gaps,
    every_field_comes_back_as_it_was,
    a_decision_made_on_an_older_state_is_stale,
    nothing_of_a_failed_transaction_stays,
    an_undo_brings_everything_back,
    use_changes_neither_version_nor_journal,
    an_idempotency_key_is_used_once,
    wrong_values_are_refused,
    a_new_embedder_replaces_the_vectors_of_the_old_one,
    erasing_removes_everything_that_was_said,
    erasing_spares_the_vector_of_another_memory_with_the_same_text,
)
