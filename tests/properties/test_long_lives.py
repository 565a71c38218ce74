"""One long random sequence on two backends in parallel: every answer, plan and row is equal (I4, I9; issue 7, item 10).

It covers long sequences, in addition to the short ones of `test_lockstep.py`: matrices and full text over thousands of
entries, undo of old entries, plans on the results of plans.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from properties.acts import COSINES, Raised, world
from properties.rolling import WEIGHTS, done, rolled
from scenarios.cases import CASES
from scenarios.world import BACKENDS, World, make, snapshot
from wellkept.errors import ConflictError
from wellkept.testing.embedder import FakeEmbedder

SHELF = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # durability is tested elsewhere
SEED = int(os.environ.get("WELLKEPT_TEST_SEED", "20261122"))
OTHERS = ("sqlite", "postgres")
COMPARED_EVERY = 250


def live(other: str, count: int, *, seed: int) -> Counter[str]:
    """Run it on a backend and on the dict backend; returns how often each verb had an effect."""
    counted: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=SHELF) as folder, ExitStack() as stack:
        embedder = FakeEmbedder(COSINES)  # one, so that a text nobody declared has one vector
        worlds = [world(name, Path(folder), embedder=embedder) for name in ("memory", other)]
        for here in worlds:
            stack.callback(here.store.close)
        names = set()
        for number, (namespace, act) in enumerate(rolled(seed, count)):
            names.add(namespace)
            told = [done(here, namespace, act) for here in worlds]
            assert told[0] == told[1], (seed, number, namespace, act)
            counted[act.verb] += told[0] is not None and not isinstance(told[0], Raised)
            for here in worlds:
                here.clock.advance(minutes=7)
            if number % COMPARED_EVERY == COMPARED_EVERY - 1:
                _assert_same(worlds, names, (seed, number))
        _assert_same(worlds, names, (seed, count))
        assert [here.store.verify() for here in worlds] == [(), ()]
    return counted


def _assert_same(worlds: list[World], names: set[str], where: tuple[int, int]) -> None:
    for name in sorted(names):
        pictures = [snapshot(here.store.in_namespace(name)) for here in worlds]
        assert pictures[0] == pictures[1], (*where, name)


@pytest.mark.parametrize("other", OTHERS)
def test_three_hundred_operations_are_answered_alike(other: str) -> None:
    counted = live(other, 300, seed=SEED)
    assert counted["remember"] > 60 and counted["recall"] and counted["plan"] and counted["execute"]


@pytest.mark.soak
@pytest.mark.parametrize("other", OTHERS)
def test_ten_thousand_operations_are_answered_alike(other: str) -> None:
    """`WELLKEPT_TEST_SEED` begins another life."""
    counted = live(other, 10_000, seed=SEED + 1)
    assert set(WEIGHTS) == {verb for verb, count in counted.items() if count}


def _told(backend: str, folder: Path) -> list[object]:
    """Every golden scenario in a namespace of one store: outcomes, reasons, plan ids and ranked answers."""
    told: list[object] = []
    for number, case in enumerate(CASES):
        opened = make(backend, folder, case.cosines, policy=case.policy, name=f"{backend}.db")
        here = replace(opened, store=opened.store.in_namespace(f"case/{number}"))
        store = here.store
        for item in case.items[:-1]:
            told.append(here.write(item))
        told.append(here.check(case.new))
        try:
            told.append(here.write(case.new))
        except ConflictError as error:
            told.append((str(error), error.conflicts))
        told += [store.recall(item["content"]) for item in case.items]
        told += [store.plan().plan_id, snapshot(store)]
        opened.store.close()
    return told


def test_the_golden_scenarios_give_the_same_on_every_backend(tmp_path: Path) -> None:
    """Not only what each scenario says: all that can be seen of it."""
    first, *others = (_told(backend, tmp_path) for backend in dict.fromkeys((*BACKENDS, *OTHERS)))
    for other in others:
        for one, two in zip(first, other, strict=True):
            assert one == two
