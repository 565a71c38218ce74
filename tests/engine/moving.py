"""A store with something of everything in it, and the process that moves one until it is killed."""

from __future__ import annotations

import sys
from pathlib import Path

import wellkept
from stores import Desk, desk
from wellkept.engine.transfer.migrate import migrate
from wellkept.storage.port import Storage
from wellkept.types import NewMemory


def filled(backend: str | Storage, folder: Path, **options: object) -> Desk:
    """Two namespaces after months of use: every outcome, every act, a run, an undo, an erasure, and use."""
    here = desk(backend, folder, namespace="acme/alice", **options)
    store, clock = here.store, here.clock
    said = [store.remember(f"The {name} stands in hall {at}.", kind="note") for at, name in enumerate(_THINGS)]
    ids = [one.memory.id for one in said if one.memory is not None]
    clock.advance(minutes=5)
    store.remember("The lamp stands in hall 1.", kind="note")  # a repeat
    store.remember("status PLANNED", kind="fact", subject="006", tags=["a", "名"])
    clock.advance(minutes=5)
    newer = store.remember("is shipped", kind="fact", subject="006", metadata={"by": "ana", "n": 1.5})
    here.near("The port of staging is 8080.", "The port of staging is 9090.", 0.97)
    store.remember("The port of staging is 8080.", title="Port")
    store.remember("The port of staging is 9090.")  # a conflict
    store.remember("ok, thanks")  # refused
    store.link(ids[0], ids[1], "refines")
    store.revise(ids[2], content="The sail was mended. שלום 数据库 C++", importance=0.9)
    store.forget(ids[3])
    clock.advance(minutes=5)
    store.undo(newer.entry)
    store.undo(store.journal(newest=1)[0].seq)  # and the undo is taken back
    gone = store.remember("Rosa's door opens to Quxolotl.").memory
    assert gone is not None
    store.revise(gone.id, content="Rosa's door opens to Quxolotlan.")
    store.link(gone.id, ids[0], "related")
    store.erase(gone.id)
    lines = folder / "lines.jsonl"
    lines.write_text('{"text": "Tea is at four."}\n{"text": "tea is at four"}\n', encoding="utf-8")
    store.import_(lines)
    clock.advance(minutes=5)
    store.recall("lamp hall")
    store.recall("lamp")
    other = store.in_namespace("名前/ボブ")
    other.remember_many([NewMemory(content=f"テストは{number}時に始まる。", kind="note") for number in range(30)])
    return here


def history(store: wellkept.MemoryStore, count: int) -> None:
    """Many entries, most of them about memories that were there before."""
    made = [store.remember(f"Report {number} is filed.", kind="note") for number in range(count)]
    for number, one in enumerate(made):
        if one.memory is not None and number % 3 == 0:
            store.revise(one.memory.id, content=f"Report {number} is filed and read.")


_THINGS = ("drum", "lamp", "sail", "rope", "bell", "coin")


def killed(source: str, target: str) -> None:
    """Move in small blocks and report each, so that a test can kill the process between them."""
    here, there = wellkept._storage(source), wellkept._storage(target)

    def told(namespace: str, at: int, whole: int) -> None:
        sys.stdout.write(f"{at}\n")
        sys.stdout.flush()

    migrate(here, there, progress=told, page=10)


if __name__ == "__main__":
    killed(sys.argv[1], sys.argv[2])
