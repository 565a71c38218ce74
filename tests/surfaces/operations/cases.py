"""One store, and a request for each operation: as input of the table and as a command."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import wellkept
from raising import raise_question
from stores import Place, fold
from wellkept.engine.queue.deferred import MAX_ATTEMPTS
from wellkept.operations.registry import call

OLD, NEW, NOTE = "The limit is 0.85.", "The limit is 0.95.", "Tea is upstairs, cups are downstairs."
UNDER_WAY = "Moving the billing export to the new format"
Known = dict[str, Any]


def furnished(path: Place) -> Known:
    """A store with a conflict, a link, a forgotten memory, a repeat and a run; what tests need to name."""
    with wellkept.open(str(path), embedder="hashing", relation_model="none") as store:
        old, new = store.remember(OLD, kind="lesson"), store.remember(NEW, kind="lesson")
        episode = store.start_episode(UNDER_WAY).memory
        note = store.remember(NOTE, tags=["house"], metadata={"floor": 1}, importance=0.9).memory
        gone = store.remember("Lunch is at noon.").memory
        assert old.memory and new.memory and note and gone and episode
        store.forget(gone.id)
        wording = store.remember("Cups stand below, tea stands above.").memory
        assert wording
        fold(store, wording.id, note.id)
        store.link(note.id, old.memory.id, "refines")
        for text in ("Ship on Friday.", "ship on friday"):
            store.remember(text, on_conflict="ignore")
        report = store.execute(store.plan())
        for text in ("Use tabs.", "use tabs"):
            last = store.remember(text, on_conflict="ignore")
        chat = store.in_session("mcp")  # as tools over standard input have it; who names none sees it too
        chat.queue.remember("Follow up on nobody.", kind="thesis", links=["nobody"])
        for _ in range(MAX_ATTEMPTS):  # from now on no `open` tries it by itself
            store.queue.flush()
        [queued] = store.queue.failed()
        moved = store.remember("Standup starts half an hour earlier.").id
        answered = raise_question(store, moved, note.id, worth=0.2)
        store.answer(answered, "new")
        question = raise_question(store, moved, store.remember("Lisbon is where they sit.").id)
        return {
            "question": question,
            "episode": episode.id, "queued": queued.id,
            "old": old.memory.id, "new": new.memory.id, "note": note.id, "gone": gone.id,
            "wording": wording.id,
            "key": new.conflicts[0].key, "run": report.run_id, "entry": last.entry,
            "plan": call(store, "plan", {}).model_dump(mode="json"),
        }  # fmt: skip


def copied(template: Place, to: Place) -> None:
    """A copy of the store and its queue under another name."""
    if isinstance(template, str):
        from postgres.server import server

        assert isinstance(to, str)
        server().refill(to, template)
        return
    for end in ("", ".queue"):
        shutil.copyfile(f"{template}{end}", f"{to}{end}")


Said = Callable[[Known], dict[str, Any]]
Typed = Callable[[Known], list[str]]
SAME: list[tuple[str, Said, Typed]] = [
    ("remember", lambda _: {"content": "Milk is cold.", "tags": ["a", "b"], "importance": 0.7, "pinned": True,
                            "event_time": "2026-03-04", "metadata": {"a": [1]}, "kind": "fact", "subject": "milk"},
     lambda _: ["Milk is cold.", "--tag", "a", "--tag", "b", "--importance", "0.7", "--pinned", "--event-time",
                "2026-03-04", "--metadata", '{"a": [1]}', "--kind", "fact", "--subject", "milk"]),
    ("remember", lambda _: {"content": NOTE.upper()}, lambda _: [NOTE.upper()]),
    ("remember", lambda known: {"content": "The limit is 0.75.", "kind": "lesson", "links": [known["note"]],
                                "idempotency_key": "k"},
     lambda known: ["The limit is 0.75.", "--kind", "lesson", "--link", known["note"], "--key", "k"]),
    ("check", lambda _: {"content": "The limit is 0.75.", "kind": "lesson", "on_conflict": "supersede"},
     lambda _: ["The limit is 0.75.", "--kind", "lesson", "--on-conflict", "supersede"]),
    ("revise", lambda known: {"memory_id": known["note"], "content": "Tea is gone.", "tags": [], "importance": 0.1},
     lambda known: [known["note"], "Tea is gone.", "--tag", "", "--importance", "0.1"]),
    ("recall", lambda _: {"query": "tea upstairs"}, lambda _: ["tea upstairs"]),
    ("recall", lambda _: {"query": "limit", "limit": 3, "explain": True, "touch": False, "mode": "hybrid",
                          "weights": "default", "include_superseded": True, "overfetch": 9,
                          "rerank": False, "grouped": True, "min_score": 0.1},
     lambda _: ["limit", "-n", "3", "--explain", "--no-touch", "--mode", "hybrid", "--weights", "default",
                "--all", "--overfetch", "9", "--no-rerank", "--grouped",
                "--min-score", "0.1"]),
    ("recall", lambda _: {"query": "tea", "expand": {"rels": ["refines"], "depth": 2}, "where": {
        "tags": ["house"], "min_importance": 0.5, "metadata": {"floor": 1}, "created_from": "2020-01-01"}},
     lambda _: ["tea", "--expand", "refines", "--depth", "2", "--tag", "house", "--min-importance", "0.5", "--meta",
                "floor=1", "--since", "2020-01-01"]),
    ("pack", lambda _: {"query": "tea", "budget_tokens": 60, "format": "json", "where": {"kinds": ["semantic"]},
                        "min_score": 0.9},
     lambda _: ["tea", "--budget", "60", "--format", "json", "--kind", "semantic", "--min-score", "0.9"]),
    ("pack", lambda _: {"query": "tea", "format": "decisions"}, lambda _: ["tea", "--format", "decisions"]),
    ("get", lambda known: {"memory_id": known["gone"], "touch": False}, lambda known: [known["gone"], "--no-touch"]),
    ("subgraph", lambda known: {"ids": [known["note"]], "depth": 2}, lambda known: [known["note"], "--depth", "2"]),
    ("stats", lambda _: {}, lambda _: []),
    ("supersede", lambda known: {"old_id": known["old"], "new_id": known["new"]},
     lambda known: [known["old"], known["new"]]),
    ("forget", lambda known: {"memory_id": known["note"]}, lambda known: [known["note"]]),
    ("restore", lambda known: {"memory_id": known["gone"]}, lambda known: [known["gone"]]),
    ("restore", lambda known: {"memory_id": known["note"]}, lambda known: [known["note"]]),
    ("split", lambda known: {"memory_id": known["wording"]}, lambda known: [known["wording"]]),
    ("resolve", lambda known: {"key": known["key"], "resolution": "keep_both"},
     lambda known: [known["key"], "keep-both"]),
    ("link", lambda known: {"src": known["note"], "dst": known["gone"], "rel": "example_of", "strict": True},
     lambda known: [known["note"], known["gone"], "example_of", "--strict"]),
    ("unlink", lambda known: {"src": known["note"], "dst": known["old"]}, lambda known: [known["note"], known["old"]]),
    ("undo", lambda known: {"entry": known["entry"]}, lambda known: [str(known["entry"])]),
    ("judge", lambda known: {"entry": known["entry"], "verdict": "wrong"},
     lambda known: [str(known["entry"]), "wrong"]),
    ("undo_run", lambda known: {"run_id": known["run"]}, lambda known: ["--run", known["run"]]),
    ("erase", lambda known: {"memory_id": known["gone"]}, lambda known: [known["gone"], "--yes"]),
    ("verify", lambda _: {}, lambda _: []),
    ("record_decision", lambda _: {"content": "Here's the plan: ship it behind a flag.", "outcome": "pending",
                                   "confidence": 0.8, "frame": "conversation"},
     lambda _: ["Here's the plan: ship it behind a flag.", "--outcome", "pending", "--confidence", "0.8", "--frame",
                "conversation"]),
    ("record_turn", lambda known: {"response": "Keep the old format for May.", "frame": "task", "decided": True,
                                   "episode": known["episode"]},
     lambda known: ["Keep the old format for May.", "--frame", "task", "--decided", "--episode", known["episode"]]),
    ("record_turn", lambda _: {"response": "Keep the old format for May.", "frame": "question", "tags": ["a"]},
     lambda _: ["Keep the old format for May.", "--frame", "question", "--tag", "a"]),
    ("start_episode", lambda _: {"content": "Painting the shed", "agent": "ana"},
     lambda _: ["Painting the shed", "--agent", "ana"]),
    ("start_episode", lambda _: {"content": UNDER_WAY.lower()}, lambda _: [UNDER_WAY.lower()]),
    ("end_episode", lambda known: {"episode_id": known["episode"], "summary": "Moved.", "outcome": "success"},
     lambda known: [known["episode"], "--summary", "Moved.", "--outcome", "success"]),
    ("queue_remember", lambda _: {"content": "Funding flips first, see [[Weekends]].", "kind": "thesis"},
     lambda _: ["Funding flips first, see [[Weekends]].", "--kind", "thesis"]),
    ("queue_remember", lambda _: {"content": "Never trade weekends.", "kind": "lesson"},
     lambda _: ["Never trade weekends.", "--kind", "lesson"]),
    ("neighbors", lambda known: {"memory_id": known["note"], "direction": "out", "rel": "refines"},
     lambda known: [known["note"], "--direction", "out", "--rel", "refines"]),
    ("queue_flush", lambda _: {"again": True}, lambda _: ["--again"]),
    ("undo_answers", lambda _: {"by": "agent", "since": "2020-01-01"},
     lambda _: ["--by", "agent", "--since", "2020-01-01"]),
    ("forget_lessons", lambda _: {}, lambda _: []),
    ("queue_drop", lambda known: {"queued_id": known["queued"]}, lambda known: [known["queued"], "--yes"]),
]  # fmt: skip
CALLED: list[tuple[str, Said]] = [("asking", lambda _: {})]
"""Requests of operations that have no command of their own."""
LISTED: list[tuple[str, str, Said, Typed]] = [
    ("list", "memories", lambda _: {"limit": 2, "where": {"statuses": ["active", "archived"]}},
     lambda _: ["-n", "2", "--status", "active", "--status", "archived"]),
    ("history", "versions", lambda known: {"memory_id": known["gone"]}, lambda known: [known["gone"]]),
    ("journal", "entries", lambda _: {}, lambda _: ["--all"]),
    ("journal", "entries", lambda _: {"after": 3, "newest": 2}, lambda _: ["--after", "3", "-n", "2"]),
    ("conflicts", "conflicts", lambda known: {"memory_id": known["old"], "settled": True, "threshold": 0.5},
     lambda known: [known["old"], "--settled", "--threshold", "0.5"]),
    ("runs", "runs", lambda _: {}, lambda _: []),
    ("questions", "questions", lambda _: {}, lambda _: []),
    ("answer", "answered", lambda known: {"question": known["question"], "text": "replaces 1", "by": "person"},
     lambda known: [known["question"], "replaces", "1"]),
    ("answer", "answered", lambda known: {"text": f"{known['question']} replaces 1", "by": "agent"},
     lambda known: [f"{known['question']} replaces 1", "--by", "agent"]),
    ("queue_pending", "pending", lambda _: {}, lambda _: []),
]  # fmt: skip
