"""Replays stories with questions that are answered at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wellkept.core.asking.question_text import list_for_agent
from wellkept.core.text.token_estimate import estimate_tokens
from wellkept.engine.replay.cached_models import AskedOnce
from wellkept.evaluation.asked.endings import StoryEnd, Written, end_of
from wellkept.evaluation.asked.readers import Reader
from wellkept.evaluation.labelled_files import Story
from wellkept.evaluation.ledger import Ledger, QuerySeen
from wellkept.evaluation.run import (
    SHOWN,
    Progress,
    Setup,
    StoryClock,
    changed,
    changes,
    fields_of,
    opened,
    shown,
    stores_of,
)
from wellkept.types import Memory

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore


def run_asked(
    stories: Sequence[Story],
    setup: Setup,
    reader: Reader,
    progress: Progress | None = None,
    *,
    crowd: Sequence[str] = (),
) -> list[StoryEnd]:
    """As `run_stories`, but each question is answered at once by the reader, and the end of each story is measured."""
    clock = StoryClock()
    found: list[StoryEnd] = []
    with opened(setup, clock) as store:
        for number, (story, own) in enumerate(stores_of(stories, setup, store, clock, crowd), 1):
            found.append(play(story, setup, own, clock, reader))
            if progress is not None:
                progress(number)
    return found


def play(story: Story, setup: Setup, store: MemoryStore, clock: StoryClock, reader: Reader) -> StoryEnd:
    """One story in a store: each write, the answer to its question, and the queries at the end."""
    ledger = Ledger()
    rows: dict[str, Memory] = {}
    written: list[Written] = []
    asked = tokens = 0
    for number, write in enumerate(story.writes, 1):
        clock.now = write.at
        change = changed(store, write.text, fields_of(write, setup), f"{story.place}, write {number}", rows)
        rows = dict(change.after)
        written.append(Written(write, ledger.take(write, change).row_id))
        question = change.result.question if change.result is not None else None
        if question is not None:
            asked += 1
            tokens += estimate_tokens(list_for_agent([question]))
            answer = store.answer(question.id, reader(question, write, ledger))
            rows |= changes(store, answer.entry)
    heads, queries = [], []
    for query in story.queries:
        hits = store.recall(query.text, limit=SHOWN, touch=False)
        once = ledger.each_once(hit.memory.id for hit in hits)
        queries.append(QuerySeen(query, tuple(shown(hit) for hit in hits), once))
        heads.append(hits[0].memory.content if hits else "")
    counts = end_of(written, rows, store.conflicts(), ledger)
    return StoryEnd(story=story, asked=asked, tokens=tokens, queries=tuple(queries), heads=tuple(heads), **counts)


def with_memory(setup: Setup) -> Setup:
    """The setup with a relation model that reads each pair once, for runs that read the same pairs again."""
    from wellkept.models.registry import load_relation_model

    model = setup.relation_model or (load_relation_model("packaged") if setup.judging == "default" else None)
    return setup if model is None else replace(setup, relation_model=AskedOnce(model))
