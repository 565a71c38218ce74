"""Checks of isolation between namespaces, transactions and threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from wellkept.errors import StorageError
from wellkept.storage.port import Tx
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
    refuses,
    vector,
)
from wellkept.types import ALL_STATUSES, AliasChange, ConflictChange, Filter, Link, LinkChange, MemoryChange

_OTHERS = ("acme/alic", "acme/alice/", "acme/alice/coder", "ACME/ALICE", "%", "acme/_lice", "ns'; --", "名前")


def no_method_sees_another_namespace(world: World) -> None:
    """Namespaces with similar names hold the same ids, hashes, words, vectors, links, conflicts and keys."""
    for namespace in (NS, *_OTHERS):
        row = replace(memory("m1", f"shared words {namespace}", namespace=namespace), embedding="e")
        world.apply(
            MemoryChange(None, row),
            AliasChange("m1", "h", present=True),
            LinkChange(None, Link("m1", "m2", namespace)),
            ConflictChange(None, conflict("k", "m1", "m2", excerpt_a=namespace)),
            vectors={"e": vector(1)},
            namespace=namespace,
            idempotency_key="key",
        )
    before = _seen(world, NS)
    for namespace in _OTHERS:
        with world.store.begin(namespace, write=True) as tx:
            row = tx.find(Filter())[0]
            tx.touch({"m1": (9, at(9), 1.0)})
            tx.apply(entry(changed(row, content="shared shared words"), AliasChange("m1", "h", present=False)))
            extra = replace(memory("m0", "shared", namespace=namespace), embedding="e0")
            tx.apply(entry(MemoryChange(None, extra)), vectors={"e0": vector(1)})
            tx.erase(["m1"], entry(verb="erase", memory_id="m1", memory_ids=("m1",)))
    equal(_seen(world, NS), before, "what the namespace shows")
    equal(_seen(world, "acme/bob"), ([], [], [], [], [], [], [], {}), "an unknown namespace is empty")
    equal(world.store.header().namespaces, tuple(sorted((NS, *_OTHERS))), "all namespaces by name")


def _seen(world: World, namespace: str) -> tuple[object, ...]:
    with world.store.begin(namespace, write=False) as tx:
        return (
            tx.find(Filter(statuses=ALL_STATUSES)),
            tx.find(Filter(hashes=("h",))),
            list(tx.nearest(vector(1)[None, :], limit=50, statuses=ALL_STATUSES)[0].ids),
            tx.match(["shared", "words"], limit=50),
            tx.links(),
            tx.conflicts(keys=["k"]),
            tx.journal(key="key"),
            {digest: one.tolist() for digest, one in tx.vectors(["e"]).items()},
        )


def a_reader_keeps_its_snapshot(world: World) -> None:
    """Later commits of others are not visible in any method."""
    first = world.add(memory("m1", "first"), seed=1, hashes=("h1",))
    world.add(memory("m2", "second"), seed=2)
    with world.store.begin(NS, write=False) as tx:
        before = _view(tx)
        _in_thread(lambda: world.add(memory("m3", "third"), seed=3))
        _in_thread(lambda: world.apply(changed(first, status="archived", title="late")))
        _in_thread(lambda: world.near(3))  # another reader brings shared caches up to date
        equal(_view(tx), before, "the snapshot")
    equal((world.near(3), world.match("third")), (["m3", "m2"], ["m3"]), "the next reader sees both changes")


def _view(tx: Tx) -> tuple[object, ...]:
    return (
        tx.seq,
        tx.find(Filter(statuses=ALL_STATUSES)),
        tx.nearest(vector(3)[None, :], limit=9, statuses=("active",))[0].ids,
        tx.match(["first", "second", "third"], limit=9),
        len(tx.journal()),
    )


def nobody_reads_what_is_not_committed(world: World) -> None:
    """During a write, readers see the last committed state and do not wait."""
    row = world.add(memory("m1", "first"), seed=1)
    with world.store.begin(NS, write=True) as tx:
        tx.apply(entry(MemoryChange(None, replace(memory("m2", "second"), embedding="e2"))), vectors={"e2": vector(2)})
        tx.apply(entry(changed(row, status="archived")))
        equal(_view_ids(tx), (["m2"], ["m2"], ["m2"]), "the writer's own view")
        seen: list[object] = []
        _in_thread(lambda: seen.append((world.ids(Filter()), world.near(2), world.match("first", "second"))))
        equal(seen, [(["m1"], ["m1"], ["m1"])], "a reader's view")
        equal(_view_ids(tx), (["m2"], ["m2"], ["m2"]), "the writer's view again")
    equal((world.ids(Filter()), world.near(2), world.match("first", "second")), (["m2"], ["m2"], ["m2"]), "committed")


def _view_ids(tx: Tx) -> tuple[list[str], list[str], list[str]]:
    near = tx.nearest(vector(2)[None, :], limit=9, statuses=("active",))[0].ids
    return [row.id for row in tx.find(Filter())], list(near), tx.match(["first", "second"], limit=9)


def a_writer_excludes_other_writers_from_its_first_moment(world: World) -> None:
    """Check and write are one transaction: the second writer sees the changes of the first."""
    inside, release = threading.Event(), threading.Event()
    order: list[str] = []

    def first() -> None:
        with world.store.begin(NS, write=True) as tx:
            inside.set()
            release.wait(10)
            tx.apply(entry(MemoryChange(None, memory("m1"))))
            order.append("first wrote")

    def second() -> None:
        with world.store.begin(NS, write=True) as tx:
            order.append(f"second sees {len(tx.find(Filter()))}")

    one, two = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    expect(inside.wait(10), "the first writer began")
    two.start()
    two.join(0.1)
    expect(two.is_alive(), "the second writer waits")
    release.set()
    one.join(10)
    two.join(10)
    equal(order, ["first wrote", "second sees 1"], "one after the other")


def no_number_is_lost_between_threads(world: World) -> None:
    """Four writers, one namespace: every entry has a unique number and every row is stored."""

    def work(worker: int) -> None:
        for number in range(20):
            world.add(memory(f"w{worker}m{number:02}"), seed=worker * 100 + number)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    equal([found.seq for found in world.journal()], list(range(1, 81)), "numbers")
    equal(len(world.ids(Filter())), 80, "rows")
    equal(len(world.near(1, limit=200)), 80, "search")


def a_reopened_store_has_kept_everything(world: World) -> None:
    """Acknowledged writes persist."""
    world.add(memory("m1", "kept words"), seed=1, hashes=("h",))
    world.apply(LinkChange(None, Link("m1", "m2")), ConflictChange(None, conflict("k", "m1", "m2")))
    with world.store.begin(NS, write=True) as tx:
        tx.touch({"m1": (3, at(3), 0.5)})
    before = (_seen(world, NS), world.journal(), world.store.header(), world.store.header().namespaces)
    world.reopen()
    equal(
        (_seen(world, NS), world.journal(), world.store.header(), world.store.header().namespaces), before, "everything"
    )
    equal(world.apply(MemoryChange(None, memory("m5"))), 3, "and goes on")
    equal(world.store.verify(), [], "sound")


def a_closed_store_refuses(world: World) -> None:
    """Closing twice is safe; other calls raise an error."""
    world.add(memory("m1"))
    world.store.close()
    world.store.close()
    refuses(StorageError, lambda: world.ids(Filter()), "reading")
    refuses(StorageError, lambda: world.add(memory("m2")), "writing")
    refuses(StorageError, world.store.header, "header")


def a_large_namespace_is_searched_exactly(world: World) -> None:
    """Enough rows to trigger every index optimisation; some written in batches, some one by one."""
    rows = [replace(memory(f"m{number:05}"), embedding=f"e{number}", chunks=1) for number in range(6000)]
    basis = np.random.default_rng(5).standard_normal((6000, DIM)).astype(np.float32)
    basis /= np.linalg.norm(basis, axis=1, keepdims=True)
    with world.store.begin(NS, write=True) as tx:
        for start in range(0, 6000, 1000):
            part = range(start, start + 1000)
            tx.apply(
                entry(*(MemoryChange(None, rows[number]) for number in part)),
                vectors={f"e{number}": basis[number] for number in part},
            )
    world.near(1)
    world.apply(changed(rows[17], status="archived"))
    world.apply(MemoryChange(rows[18], None))
    query = basis[17] + 0.1 * basis[4000]
    query = (query / np.linalg.norm(query)).astype(np.float32)
    with world.store.begin(NS, write=False) as tx:
        stored = tx.vectors([row.embedding for row in rows])
        matrix = np.stack([stored[row.embedding] for row in rows])
        scores = matrix @ query
        scores[[17, 18]] = -2.0
        expected = [rows[place].id for place in np.argsort(-scores, kind="stable")[:10]]
        found = tx.nearest(query[None, :], limit=10, statuses=("active",))[0]
        equal(tx.match(["of", "m00019"], limit=1), ["m00019"], "a rare word beside one that stands everywhere")
        equal(len(tx.match(["of"], limit=9000)), 5998, "a word that stands everywhere, by itself")
        equal(len(set(tx.match(["content", "m00020"], limit=50))), 50, "and where rare ones are too few")
    equal(list(found.ids), expected, "nearest of six thousand")


CHECKS: tuple[Callable[[World], None], ...] = (
    no_method_sees_another_namespace,
    a_reader_keeps_its_snapshot,
    nobody_reads_what_is_not_committed,
    a_writer_excludes_other_writers_from_its_first_moment,
    no_number_is_lost_between_threads,
    a_reopened_store_has_kept_everything,
    a_closed_store_refuses,
    a_large_namespace_is_searched_exactly,
)


def _in_thread(act: Callable[[], object]) -> None:
    """Run it in another thread and wait."""
    failure: list[BaseException] = []

    def guarded() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - handed on to the caller's thread
            failure.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join(30)
    expect(not thread.is_alive(), "the other thread waits for this one")
    if failure:
        raise failure[0]
