"""Random writes, answers and undos: every backend ends alike, nothing is lost, and everything can be taken back."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asked import Unsure, policy, state, text
from scenarios.world import found_anywhere, snapshot
from stores import Desk, desk
from wellkept.core.asking.state import Asking
from wellkept.errors import WellkeptError
from wellkept.testing.embedder import FakeEmbedder

SHELF = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
TOPICS = ("billing", "search", "mail")
TEXTS = tuple(
    said
    for topic in TOPICS
    for said in (
        f"Ana leads {topic}.",
        f"{topic.title()} is run by Bo.",
        f"Carl heads the {topic} team.",
        f"Whoever asks about {topic} is sent to Dee.",
    )
)
SHARES = ({"conflict": 0.4}, {"same": 0.5}, {"same": 0.95}, {"conflict": 0.95}, {"refines": 0.5})
ANSWERS = (
    "new", "repeats 1", "replaces 1", "outdated by 1", "adds to 1", "keep both 1", "not worth keeping",
    "repeats 1,2", "replaces 1,2", "repeats 2 and replaces 1", "repeats 1 and outdated by 2",
    "keep both 2 and adds to 1",
    "replaces part of 1", "repeats 2 and replaces part of 1",
)  # fmt: skip
KINDS = ("fact", "fact", "knowledge", "lesson", "episode")

writes = st.tuples(st.just("write"), st.sampled_from(TEXTS), st.sampled_from(KINDS))
answers = st.tuples(
    st.just("answer"), st.integers(0, 5), st.tuples(st.sampled_from(ANSWERS), st.sampled_from(("agent", "person")))
)
undos = st.tuples(st.just("undo"), st.integers(0, 6), st.none())
others = st.tuples(
    st.sampled_from(("forget", "restore", "supersede", "resolve")), st.integers(0, 20), st.integers(0, 20)
)
stories = st.lists(st.one_of(writes, writes, answers, answers, undos, others), min_size=4, max_size=22)
opinions = st.lists(st.sampled_from(SHARES), min_size=6, max_size=6)


def related() -> FakeEmbedder:
    cosines = {}
    for start in range(0, len(TEXTS), 4):
        near = TEXTS[start : start + 4]
        cosines |= {(old, new): 0.8 for place, old in enumerate(near) for new in near[place + 1 :]}
    return FakeEmbedder(cosines, dim=64)


def declared(shares: list[dict[str, float]]) -> Unsure:
    """The same opinions within each topic, in both directions."""
    model = Unsure()
    for start in range(0, len(TEXTS), 4):
        near = TEXTS[start : start + 4]
        pairs = [(old, new) for place, old in enumerate(near) for new in near[place + 1 :]]
        for pair, share in zip(pairs, shares, strict=True):
            model.declare(*pair, **share)
            model.declare(*reversed(pair), **{name: one for name, one in share.items() if name != "refines"})
    return model


def perform(table: Desk, act: Any) -> Any:
    verb, one, other = act
    store = table.store
    try:
        match verb:
            case "write":
                return store.remember(one, kind=other)
            case "answer":
                found = store.questions()
                return store.answer(found[one % len(found)].id, other[0], by=other[1]) if found else None
            case "undo":
                entries = store.journal()
                return store.undo(entries[-1 - one % len(entries)].seq) if entries else None
            case "resolve":
                listed = store.conflicts()
                return store.resolve(listed[one % len(listed)].key, "keep_both") if listed else None
        rows = table.snapshot()[0]
        if not rows:
            return None
        a, b = rows[one % len(rows)].id, rows[other % len(rows)].id
        return store.supersede(a, b) if verb == "supersede" else getattr(store, verb)(a)
    except WellkeptError as error:
        return type(error).__name__, str(error)


def desks(backends: tuple[str, ...], folder: Path, shares: list[dict[str, float]]) -> list[Desk]:
    fake = related()
    made = []
    for backend in backends:
        made.append(desk(backend, folder, fake=fake, relation_model=declared(shares), policy=policy(100)))
    return made


def play(backends: tuple[str, ...], story: list[Any], shares: list[dict[str, float]]) -> None:
    with tempfile.TemporaryDirectory(dir=SHELF) as folder:
        tables = desks(backends, Path(folder), shares)
        said: set[str] = set()
        try:
            for act in story:
                first, *rest = [perform(table, act) for table in tables]
                for table in tables:
                    table.clock.advance(minutes=7)
                assert all(one == first for one in rest), act
                pictures = [(snapshot(table.store), text(table.store), table.store.questions()) for table in tables]
                assert all(one == pictures[0] for one in pictures[1:]), act
                if act[0] == "write":
                    said.add(act[1])
                assert {one for one in said if not found_anywhere(tables[0].store, one)} == set(), act
            for table in tables:
                assert table.store.verify() == ()
            _take_everything_back(tables[0])
        finally:
            for table in tables:
                table.store.close()


def _take_everything_back(table: Desk) -> None:
    """Undo every entry, newest first, undos included."""
    store = table.store
    for entry in reversed(store.journal()):
        if entry.effects or entry.answers or entry.undoes:
            store.undo(entry.seq)
    rows, links, conflicts, *_ = table.snapshot()
    assert (rows, links, conflicts, store.questions()) == ((), (), (), ())
    assert state(store).checked == Asking().checked


BOUNDS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@BOUNDS
@given(story=stories, shares=opinions)
def test_two_backends_answer_alike_and_everything_can_be_taken_back(story: list[Any], shares: Any) -> None:
    play(("memory", "sqlite"), story, shares)


@settings(BOUNDS, max_examples=6)
@given(story=stories, shares=opinions)
def test_postgresql_answers_like_the_plain_dicts(story: list[Any], shares: Any) -> None:
    play(("memory", "postgres"), story, shares)
