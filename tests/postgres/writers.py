"""Processes that write through the product until they are stopped, and print the answers.

Each line of output is one answer: `[verb, namespace, id or text, seconds]`. Writes without an answer are missing; they
may be stored or not, but never twice.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import wellkept
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import StorageError
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import ALL_STATUSES, Filter

ROOT = Path(__file__).parents[2]
PATHS = [str(ROOT / "src"), str(ROOT / "tests")]
SPACES = ("acme/one", "acme/two", "acme/three")
DIM = 16


@dataclass
class Told:
    """The answers to writers.

    Attributes:
        texts: By namespace, every text that was acknowledged, as often as it was.
        archived: By namespace, ids of what was said to be archived.
        times: When each answer came.
        errors: What failed, by kind of error.
        verbs: Answers by verb.
    """

    texts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in SPACES})
    archived: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in SPACES})
    times: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    verbs: Counter[str] = field(default_factory=Counter)


class Writers:
    """So many processes with so many threads each, writing in the same namespaces.

    Args:
        url: Of the store.
        processes: How many.
        threads: In each.
    """

    def __init__(self, url: str, *, processes: int, threads: int) -> None:
        self._told = Told()
        self._lock = threading.Lock()
        self._running = [
            subprocess.Popen(
                [sys.executable, "-m", "postgres.writers", url, str(number), str(threads)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env={"PYTHONPATH": ":".join(PATHS), "OPENBLAS_NUM_THREADS": "1"},
            )
            for number in range(processes)
        ]
        self._reading = [threading.Thread(target=self._read, args=(one,)) for one in self._running]
        for thread in self._reading:
            thread.start()

    def count(self) -> int:
        """Answers so far."""
        with self._lock:
            return len(self._told.times)

    def wait_for(self, count: int, *, seconds: float = 240.0) -> None:
        """Until so many answers have come."""
        until = time.monotonic() + seconds
        while self.count() < count:
            assert time.monotonic() < until, f"only {self.count()} answers in {seconds} s: {self._told.errors}"
            assert any(one.poll() is None for one in self._running), "the writers have ended"
            threading.Event().wait(0.05)

    def stop(self) -> Told:
        """Stop each after its current call and return all answers."""
        for one in self._running:
            assert one.stdin is not None
            one.stdin.close()
        for one in self._running:
            one.wait(120)
        self._close()
        assert [one.returncode for one in self._running] == [0] * len(self._running)
        return self._told

    def kill(self) -> None:
        """Stop remaining processes."""
        for one in self._running:
            if one.poll() is None:
                one.kill()
            one.wait()
        self._close()

    def _close(self) -> None:
        for thread in self._reading:
            thread.join(30)
        for one in self._running:
            for end in (one.stdin, one.stdout):
                if end is not None:
                    end.close()

    def _read(self, one: subprocess.Popen[str]) -> None:
        assert one.stdout is not None
        for line in one.stdout:
            verb, namespace, what, at = json.loads(line)
            with self._lock:
                if verb == "error":
                    self._told.errors[what] += 1
                    continue
                self._told.verbs[verb] += 1
                self._told.times.append(at)
                if verb == "remember":
                    self._told.texts[namespace][what] += 1
                elif verb == "forget":
                    self._told.archived[namespace].add(what)


def losses(url: str, told: Told) -> tuple[int, int, int]:
    """Answers that the store does not bear out, texts that it holds twice, and how many rows it holds."""
    lost = doubled = rows = 0
    for namespace in SPACES:
        with wellkept.open(url, embedder=FakeEmbedder(dim=DIM), relation_model="none", namespace=namespace) as store:
            held = store.list(Filter(statuses=ALL_STATUSES))
            counted = Counter(row.content for row in held)
            lost += sum(counted[text] < 1 for text in told.texts[namespace])
            archived = {row.id for row in held if row.status == "archived"}
            lost += len(told.archived[namespace] - archived)
            doubled += sum(count - 1 for count in counted.values())
            doubled += sum(count - 1 for count in told.texts[namespace].values())
            rows += len(held)
            assert store.verify() == ()
            entries = store.journal()
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    return lost, doubled, rows


def _say(verb: str, namespace: str, what: str) -> None:
    sys.stdout.write(json.dumps([verb, namespace, what, time.monotonic()]) + "\n")
    sys.stdout.flush()


_saying = threading.Lock()


def _tell(verb: str, namespace: str, what: Iterable[str]) -> None:
    with _saying:
        for one in what:
            _say(verb, namespace, one)


def _work(stores: dict[str, MemoryStore], name: str, stop: threading.Event) -> None:
    """A mixed load: nothing here compares texts, so that every second run of a write would be seen."""
    number = 0
    while not stop.is_set():
        number += 1
        namespace = SPACES[number % len(SPACES)]
        store, text = stores[namespace], f"note {name} {number}"
        try:
            match number % 7:
                case 3:
                    texts = [f"{text} part {part}" for part in range(5)]
                    done = store.remember_many([{"content": one, "kind": "thesis"} for one in texts])
                    _tell("remember", namespace, texts)
                    assert dict(done.counts) == {"created": 5}, done
                case 4:
                    store.recall(text, touch=False)
                    _tell("recall", namespace, [""])
                case 5:
                    made = store.remember(text, kind="thesis").memory
                    assert made is not None
                    _tell("remember", namespace, [text])
                    store.forget(made.id)
                    _tell("forget", namespace, [made.id])
                case _:
                    told = store.remember(text, kind="thesis")
                    _tell("remember", namespace, [text])
                    assert told.outcome == "created", told
        except StorageError as error:
            _tell("error", namespace, [f"{type(error).__name__}: {error.what[:60]}"])


def main(url: str, number: str, threads: str) -> None:
    """Work until the standard input ends."""
    stop = threading.Event()
    stores = {
        name: wellkept.open(url, embedder=FakeEmbedder(dim=DIM), relation_model="none", namespace=name)
        for name in SPACES
    }
    working = [
        threading.Thread(target=_work, args=(stores, f"{number} {thread}", stop)) for thread in range(int(threads))
    ]
    for thread in working:
        thread.start()
    sys.stdin.read()
    stop.set()
    for thread in working:
        thread.join()
    for store in stores.values():
        store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
