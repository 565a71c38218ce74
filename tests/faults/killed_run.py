"""The store that is killed in the middle of an execution, and the process that executes."""

from __future__ import annotations

from collections.abc import Iterable
from multiprocessing.connection import Connection
from pathlib import Path

import wellkept
from wellkept.testing.clock import CountingIds, FrozenClock
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel

CLUSTERS = 24
WORDS = ("Drum", "Lamp", "Sail", "Rope", "Bell", "Coin")


def texts(number: int) -> tuple[str, str, str]:
    """Three spellings of one thing."""
    name = f"{WORDS[number % len(WORDS)]} {number}"
    return f"{name} stands in the hall.", f"{name.upper()} STANDS IN THE HALL", f"{name} stands in the hall!"


def opened(path: Path) -> wellkept.MemoryStore:
    """The store with fakes around it, the same in every process."""
    return wellkept.open(
        str(path), embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel(), clock=FrozenClock()
    )


def filled(path: Path, clusters: Iterable[int] = range(CLUSTERS)) -> None:
    """Write every spelling, with links across and one older row behind each."""
    clock = FrozenClock()
    with wellkept.open(
        str(path), embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel(), clock=clock, new_id=CountingIds()
    ) as store:
        last = ""
        for number in clusters:
            ids = []
            for text in texts(number):
                clock.advance(minutes=1)
                written = store.remember(text, on_conflict="ignore").memory
                assert written is not None
                ids.append(written.id)
            old = store.remember(f"Nothing was in place {number} before.", on_conflict="ignore").memory
            assert old is not None
            store.supersede(old.id, ids[0])
            if last:
                store.link(last, ids[0], "related")
            last = ids[1]


def written_to(path: Path, began: Connection) -> None:
    """What another process does meanwhile: new memories, and a change to one spelling of every third thing."""
    with wellkept.open(str(path), embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel()) as store:
        by_text = {row.content: row.id for row in store.list()}
        began.send("go")
        for number in range(0, CLUSTERS, 3):
            store.revise(by_text[texts(number)[1]], tags=[f"by hand {number}"])
            store.remember(f"Somebody came in while {number} was sorted.", on_conflict="ignore")


def executed(path: Path, began: Connection) -> None:
    """Plan and execute, telling when the execution begins; after each action it waits for leave to go on."""

    def wait(*_: int) -> None:
        began.send("done")
        began.recv()

    with opened(path) as here:
        plan = here.plan()
        began.send("go")
        here.execute(plan, progress=wait)
