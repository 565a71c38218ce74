"""Plays stories through a system and hands what happened to the metrics of `wellkept.evaluation`."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.beside.system import Opening, System, Vectors
from wellkept.evaluation.labelled_files import Story, Write
from wellkept.evaluation.ledger import Ledger, QuerySeen
from wellkept.evaluation.outcome import Change, holds
from wellkept.evaluation.story_metrics import StorySeen
from wellkept.types import Memory, WriteResult

SHOWN = 10


class Rows:
    """The rows of a store by id, made from nothing but its texts after each write.

    A text that is gone is superseded, unless another text holds it letter by letter: then the two were joined, and the
    joined text is the first of them, grown.
    """

    def __init__(self) -> None:
        self._rows: dict[str, Memory] = {}
        self._joined: set[str] = set()

    def changed(self, write: Write, texts: Sequence[str]) -> Change:
        """The store before and after a write, given its texts afterwards."""
        before = dict(self._rows)
        fresh = Counter(texts)
        gone = [row for row in self._active() if row.id in self._joined]
        for row in self._whole():
            if fresh[row.content]:
                fresh[row.content] -= 1
            else:
                gone.append(row)
        own = None
        for text in fresh.elements():
            held = [row for row in gone if text != write.text and row.content in text]
            grown = next((row for row in held if row.id not in self._joined), None)
            if grown is not None:
                gone.remove(grown)
                self._rows[grown.id] = replace(grown, content=text)
                continue
            row = self._new(text, write)
            self._rows[row.id] = row
            if holds(text, write.text):
                own = row
        for row in gone:
            if any(row.content in text for text in texts):
                self._joined.add(row.id)
            else:
                self._rows[row.id] = replace(row, status="superseded")
        result = WriteResult(outcome="created" if own is not None else "rejected", memory=own)
        return Change(text=write.text, result=result, before=before, after=dict(self._rows))

    def ids(self, texts: Iterable[str]) -> list[str]:
        """The rows of hits; the second hit with an equal text is the second row that has it."""
        by_text: dict[str, Iterator[str]] = {}
        rows = defaultdict[str, list[str]](list)
        for row in self._whole():
            rows[row.content].append(row.id)
        found = (next(by_text.setdefault(text, iter(rows[text])), "") for text in texts)
        return [row for row in found if row]

    def _active(self) -> list[Memory]:
        return [row for row in self._rows.values() if row.status == "active"]

    def _whole(self) -> list[Memory]:
        """The active rows that are a text of their own."""
        return [row for row in self._active() if row.id not in self._joined]

    def _new(self, text: str, write: Write) -> Memory:
        name = f"{len(self._rows) + 1}"
        return Memory(id=name, namespace="story", content=text, created_at=write.at, updated_at=write.at)


def play(stories: Sequence[Story], opening: Opening, vectors: Vectors) -> list[StorySeen]:
    """Play each story through a new store."""
    found = []
    for story in stories:
        vectors.of([*(write.text for write in story.writes), *(query.text for query in story.queries)])
        with tempfile.TemporaryDirectory(prefix="wellkept-beside-", ignore_cleanup_errors=True) as folder:
            with closing(opening(Path(folder), vectors)) as system:
                found.append(play_one(story, system))
    return found


def play_one(story: Story, system: System) -> StorySeen:
    """Play a story through an empty store.

    Its times are moved so that the last write is at this moment: what weighs age by the clock of the machine sees a
    store in use, not one left alone for months.
    """
    rows, ledger = Rows(), Ledger()
    moved = datetime.now(UTC) - story.writes[-1].at if story.writes else None
    writes = []
    for write in story.writes:
        assert moved is not None
        system.write(write.text, kind=write.kind, at=write.at + moved)
        writes.append(ledger.take(write, rows.changed(write, system.all_texts())))
    queries = []
    for query in story.queries:
        texts = system.search(query.text, SHOWN)
        queries.append(QuerySeen(query, tuple(texts), ledger.each_once(rows.ids(texts))))
    return StorySeen(story, tuple(writes), tuple(queries))
