"""Random calls on a store: a small set of texts at chosen cosines, every verb, choices among stored items."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import wellkept
from examples import examples
from postgres.given import EVERYWHERE
from scenarios.world import World, make
from wellkept.errors import WellkeptError
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import ALL_STATUSES, Filter, Memory

BRANCH, BRANCH_AGAIN, BRANCH_NEAR = (
    "Deploys run from the main branch.",
    "The main branch is where deploys run from.",
    "From the main branch run deploys.",
)
COSINES = {
    (BRANCH, BRANCH_AGAIN): 0.96,
    (BRANCH, BRANCH_NEAR): 0.92,
    (BRANCH_AGAIN, BRANCH_NEAR): 0.92,
    ("threshold 0.85", "threshold 0.95"): 0.99,
    ("Use X", "Never use X"): 0.85,
    ("Use ruff for linting", "Use flake8 for linting"): 0.96,
    ("The office has a kitchen.", "The kitchen has a coffee machine."): 0.7,
}
TEXTS = tuple(dict.fromkeys(text for pair in COSINES for text in pair)) + ("use x!", "THRESHOLD 0.85", "数据库在东京。")
KINDS = ("lesson", "semantic", "fact", "knowledge", "episode", "thesis", "decision")
OFTEN = ("lesson", "semantic", "fact", "knowledge") * 3 + KINDS
EXTRAS: tuple[dict[str, Any], ...] = (
    *({},) * 12,
    {"subject": "006"},
    {"subject": "006", "attribute": "status"},
    {"tags": ["infra"]},
    {"event_time": datetime(2025, 11, 3, tzinfo=UTC)},
    {"polarity": 1},
    {"polarity": -1},
    {"pinned": True, "importance": 0.9},
    {"recorded_at": datetime(2025, 12, 1, tzinfo=UTC)},
)
ANSWERS = (None,) * 6 + ("supersede",) * 2 + ("ignore", "warn", "supersede_sure", "raise")
CHANGES: tuple[dict[str, Any], ...] = (
    *({"content": text} for text in TEXTS[:6]),
    {"tags": ["infra"]},
    {"title": "A title"},
    {"ended_at": datetime(2026, 1, 2, tzinfo=UTC)},
)
few, some = (examples(2, 4), examples(4, 10)) if EVERYWHERE else (examples(4, 8), examples(9, 20))
"""How many stories are told; on a server each takes several times as long. `make soak` tells more."""
RESOLUTIONS = ("keep_old", "keep_new", "keep_both", "merge", "dismissed")


@dataclass(frozen=True)
class Act:
    """One call; `a` and `b` select among the existing rows, conflicts or entries."""

    verb: str
    a: int = 0
    b: int = 0
    text: str = ""
    fields: Any = field(default_factory=dict)
    word: Any = None


def world(backend: str, folder: Path, name: str = "store.db", embedder: FakeEmbedder | None = None) -> World:
    """A fresh world with the alphabet's cosines."""
    return make(backend, folder, embedder=embedder if embedder is not None else FakeEmbedder(COSINES), name=name)


picks = st.integers(0, 40)
remembers = st.builds(
    lambda text, kind, extra, answer: Act("remember", text=text, fields={"kind": kind, **extra}, word=answer),
    st.sampled_from(TEXTS), st.sampled_from(OFTEN), st.sampled_from(EXTRAS), st.sampled_from(ANSWERS),
)  # fmt: skip
repeats = st.builds(lambda a, answer: Act("repeat", a, word=answer), picks, st.sampled_from(ANSWERS))
pairs = st.builds(
    lambda pair, kind, answer: [Act("remember", text=text, fields={"kind": kind}, word=answer) for text in pair],
    st.sampled_from(tuple(COSINES)), st.sampled_from(OFTEN), st.sampled_from(ANSWERS),
)  # fmt: skip
supersedes = st.builds(lambda a, b: Act("supersede", a, b), picks, picks)
restores = st.builds(lambda a: Act("restore", a), picks)
forgets = st.builds(lambda a: Act("forget", a), picks)
links = st.builds(lambda a, b, rel: Act("link", a, b, word=rel), picks, picks, st.sampled_from(("related", "refines")))
unlinks = st.builds(lambda a: Act("unlink", a), picks)
revises = st.builds(lambda a, change: Act("revise", a, fields=change), picks, st.sampled_from(CHANGES))
resolves = st.builds(lambda a, word: Act("resolve", a, word=word), picks, st.sampled_from(RESOLUTIONS))
undos = st.builds(lambda a: Act("undo", a), picks)
erases = st.builds(lambda a: Act("erase", a), picks)
recalls = st.builds(lambda text, a: Act("recall", a, text=text), st.sampled_from(TEXTS), st.integers(0, 1))
gets = st.builds(lambda a: Act("get", a), picks)
writes = st.one_of(remembers, remembers, repeats, supersedes, restores, forgets, links, unlinks, revises, resolves)
acts = st.one_of(writes, writes, undos, erases, recalls, gets)


def stories(of: st.SearchStrategy[Act], most: int) -> st.SearchStrategy[list[Act]]:
    """A few pairs of near texts, then calls on the resulting memories."""
    return st.builds(
        lambda near, then: [*(act for pair in near for act in pair), *then],
        st.lists(pairs, min_size=1, max_size=2), st.lists(of, max_size=most),
    )  # fmt: skip


items = st.builds(
    lambda text, kind, extra: {"content": text, "kind": kind, **extra},
    st.sampled_from(TEXTS), st.sampled_from(OFTEN), st.sampled_from(EXTRAS),
)  # fmt: skip


@dataclass(frozen=True)
class Raised:
    """An error as a value, so that two stores can be compared by it."""

    kind: str
    message: str
    entries: tuple[int, ...] = ()


def perform(store: wellkept.MemoryStore, act: Act) -> Any:
    """Do it; the result, `Raised`, or None when there is nothing to do it to."""
    try:
        return _perform(store, act)
    except WellkeptError as error:
        return Raised(type(error).__name__, str(error), getattr(error, "entries", ()))


def _perform(store: wellkept.MemoryStore, act: Act) -> Any:  # noqa: C901
    match act.verb:
        case "remember":
            return store.remember(act.text, on_conflict=act.word, **act.fields)
        case "check":
            return store.check(act.text, on_conflict=act.word, **act.fields)
        case "recall":
            return store.recall(act.text, limit=3, include_superseded=bool(act.a))
        case "unlink":
            related = sorted(edge for edge in _edges(store) if edge[2] != "supersedes")
            return store.unlink(*related[act.a % len(related)]) if related else None
        case "resolve":
            found = store.conflicts(settled=True)
            return store.resolve(found[act.a % len(found)].key, act.word) if found else None
        case "undo":
            entries = store.journal()
            return store.undo(entries[-1 - act.a % len(entries)].seq) if entries else None
    rows = stored(store)
    if not rows:
        return None
    a, b = rows[act.a % len(rows)].id, rows[act.b % len(rows)].id
    match act.verb:
        case "repeat":
            row = rows[act.a % len(rows)]
            return store.remember(row.content, on_conflict=act.word, kind=row.kind, subject=row.subject)
        case "supersede":
            return store.supersede(a, b)
        case "restore":
            return store.restore(a)
        case "forget":
            return store.forget(a)
        case "erase":
            return store.erase(a)
        case "get":
            return store.get(a)
        case "link":
            return store.link(a, b, act.word, strict=True)
        case "revise":
            return store.revise(a, **act.fields)
    raise AssertionError(act.verb)


def stored(store: wellkept.MemoryStore) -> tuple[Memory, ...]:
    """Every row of every status, oldest first."""
    return store.list(Filter(statuses=ALL_STATUSES))


def _edges(store: wellkept.MemoryStore) -> tuple[tuple[str, str, str], ...]:
    rows = stored(store)
    return store.subgraph([row.id for row in rows], depth=1).edges if rows else ()
