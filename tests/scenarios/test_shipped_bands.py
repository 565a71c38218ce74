"""Tiers, bands and batches with the models that ship: similarity alone never decides there, the relation model does.

The twins with injected similarities, which try the bounds to the fourth decimal, say so in their names. Here
the bounds are read from the model, so that nothing depends on a probability near one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

import wellkept
from letter import to_the_letter
from scenarios.test_titles import INSIGHTS
from wellkept import Filter, MemoryStore, NewMemory, WriteResult
from wellkept.core.judging.evidence import rests_on_words
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.core.records.merge import evolution
from wellkept.core.text.forms import canonical
from wellkept.engine.gate.check_similar import check_similar
from wellkept.policy import EVOLUTION_THRESHOLDS, SIMILARITY_EDGE_THRESHOLD, TOLD_AGAIN_AT
from wellkept.testing.clock import FrozenClock

WORDINGS = [(old, new) for first, *others in INSIGHTS for old in (first,) for new in others]
WORDINGS_ONLY = Filter(statuses=("wording",))
REFINEMENTS = (
    ("The hook runs after each session", "The hook runs after each session and stores what was learnt in the wiki"),
    ("Backups run every night.", "Backups run every night at two o'clock and are kept for thirty days."),
    ("The export is written as CSV.", "The export is written as CSV with a header line and semicolons."),
    ("Deploys are started by hand.", "Deploys are started by hand by the platform team on weekdays."),
    ("The staging server runs Debian.", "The staging server runs Debian with the hardened kernel."),
    ("Ana leads the billing team.", "Ana leads the billing team, which has six members."),
    ("Logs are shipped to the archive.", "Logs are shipped to the archive every hour, compressed with zstd."),
    ("The parser skips empty lines.", "The parser skips empty lines and lines that begin with a hash sign."),
    ("Tests run on every commit.", "Tests run on every commit, on Linux and on macOS."),
    ("The API returns JSON.", "The API returns JSON with keys in alphabetical order."),
)
UNRELATED = (
    ("Deploys are started by hand", "Releases go through the platform team"),
    ("Backups run every night.", "Ana leads the billing team."),
    ("The API returns JSON.", "Grandma's soup has leeks in it."),
)
_numbers = count()


@pytest.fixture(scope="module")
def opened() -> Iterator[MemoryStore]:
    with wellkept.open("memory:", clock=FrozenClock()) as store:
        yield store


@pytest.fixture(scope="module")
def letter() -> Iterator[MemoryStore]:
    with wellkept.open("memory:", clock=FrozenClock(), policy=to_the_letter()) as store:
        yield store


@pytest.fixture
def store(opened: MemoryStore) -> MemoryStore:
    """A namespace that nothing has been written to, of a store that has loaded its models."""
    return opened.in_namespace(f"band/{next(_numbers)}")


def bounds_of(store: MemoryStore) -> Bounds:
    model = store._ctx.relation_model
    assert model is not None and not model.defers
    return model.bounds("balanced")


def told(store: MemoryStore, old: str, new: str, **fields: Any) -> WriteResult:
    """What becomes of the second text after the first."""
    store.remember(old, **fields)
    return store.remember(new, **fields)


@pytest.mark.parametrize(("old", "new"), WORDINGS)
def test_an_insight_told_again_is_kept_as_a_wording_and_listed_once(store: MemoryStore, old: str, new: str) -> None:
    """I1: nothing is dropped on a model's word."""
    result = told(store, old, new, kind="lesson")
    [head] = store.list()
    [wording] = store.list(WORDINGS_ONLY)
    assert (result.outcome, result.memory and result.memory.id) == ("restated", head.id)
    assert (head.content, wording.content, wording.superseded_by) == (old, new, head.id)
    assert [(link.src, link.rel, link.dst) for link in result.links] == [(wording.id, "restates", head.id)]
    assert [entry for entry in store.journal() if entry.dropped is not None] == []


@pytest.mark.parametrize(("old", "new"), WORDINGS)
def test_to_the_letter_an_insight_told_again_keeps_to_the_tiers(letter: MemoryStore, old: str, new: str) -> None:
    """S0-10, S0-31, S0-36, S0-39: dropped if the model is certain, linked from .90 on, otherwise only reported."""
    store = letter.in_namespace(f"tier/{next(_numbers)}")
    result = told(store, old, new, kind="lesson")
    match = result.matches[0]
    assert match.opinion is not None and match.similarity is not None
    rels = [link.rel for link in result.links]
    if result.outcome == "duplicate":
        bounds = bounds_of(store)
        assert match.opinion.repeats >= bounds.skip and match.similarity >= TOLD_AGAIN_AT
        assert rests_on_words(NewMemory(content=new), store.list()[0], match.similarity, bounds)
        assert (rels, len(store.list())) == ([], 1)
    else:
        assert result.outcome == "created" and len(store.list()) == 2
        assert bool(rels) == (match.similarity >= SIMILARITY_EDGE_THRESHOLD)


def test_to_the_letter_what_the_model_is_sure_of_is_dropped_and_what_it_is_not_is_kept(letter: MemoryStore) -> None:
    """S0-10: both happen among ten insights in three wordings, so that neither tier is tried in vain."""
    outcomes = []
    for old, new in WORDINGS:
        outcomes.append(told(letter.in_namespace(f"both/{next(_numbers)}"), old, new, kind="lesson").outcome)
    assert 3 <= outcomes.count("duplicate") < len(outcomes)
    assert set(outcomes) == {"duplicate", "created"}


def test_a_repeat_is_found_among_any_number_of_newer_ones(store: MemoryStore) -> None:
    """S0-19, B-15: in other words, and it is the nearest of all."""
    old, new = WORDINGS[2]
    first = store.remember(old, kind="lesson").memory
    for number in range(20):
        store.remember(f"Lesson {number}: the meeting about topic {number} was too long.", kind="lesson")
    assert first is not None
    for asked in (new, old.upper()):
        assert store.check(asked, kind="lesson").matches[0].memory_id == first.id
        assert check_similar(store._ctx, asked, "", kind="lesson")["matches"][0]["node_id"] == first.id


def test_one_breath_that_says_a_thing_three_times_is_one_memory(store: MemoryStore) -> None:
    """S0-48, S4-15: each item of a batch sees those before it, in other words too."""
    old, new = WORDINGS[2]
    batch = store.remember_many([{"content": text, "kind": "lesson"} for text in (old, old.lower(), new)])
    first, again, reworded = batch.results
    assert first is not None and again is not None and reworded is not None and first.memory is not None
    assert again.outcome == "duplicate"
    assert [result.matches[0].memory_id for result in (again, reworded)] == [first.memory.id] * 2
    alone = told(store.in_namespace(f"{store.namespace}/alone"), old, new, kind="lesson")
    assert reworded.outcome == alone.outcome


# --------------------------------------------------------------------------------------------
# Evolution


@pytest.mark.parametrize(("old", "new"), REFINEMENTS)
def test_a_text_that_adds_to_knowledge_is_appended_or_linked_and_never_dropped(
    store: MemoryStore, old: str, new: str
) -> None:
    """S4-8, S4-10, S4-12: appended where the model is sure that it refines, from .65 on."""
    result = told(store, old, new, kind="knowledge")
    match = result.matches[0]
    assert match.opinion is not None and match.similarity is not None
    sure = match.opinion.refines >= bounds_of(store).evolve
    if result.outcome == "evolved":
        assert sure and match.similarity >= EVOLUTION_THRESHOLDS["evolve_min"]
        [row] = store.list()
        assert row.content == f"{old}\n\n[{row.updates[0].at.date()}] {new}"
        assert evolution(row)["evolution_count"] == 1
        assert store.remember(new, kind="knowledge").outcome == "duplicate"
        assert store.get(row.id, touch=False).evolution_count == 1
    else:
        assert result.outcome == "created"
        assert [row.content for row in store.list()] == [old, new]


def test_most_natural_refinements_evolve(opened: MemoryStore) -> None:
    """S4-8: without it the band would be tried in vain."""
    outcomes = [
        told(opened.in_namespace(f"most/{next(_numbers)}"), old, new, kind="knowledge").outcome
        for old, new in REFINEMENTS
    ]
    assert outcomes.count("evolved") >= len(REFINEMENTS) / 2


@pytest.mark.parametrize(("old", "new"), UNRELATED)
def test_knowledge_of_something_else_is_created(store: MemoryStore, old: str, new: str) -> None:
    """S4-8: the first pair is the one whose similarity other tests inject; it is two statements."""
    assert told(store, old, new, kind="knowledge").outcome == "created"
    assert [row.content for row in store.list()] == [old, new]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Invoices are signed by Petra.", "Somebody asked whether invoices need a signature."),
        ("Das Büro schließt um sechs.", "Es ist unklar, ob das Büro um sechs schließt."),
    ],
)
def test_who_asks_whether_something_is_so_restates_nothing(store: MemoryStore, old: str, new: str) -> None:
    assert told(store, old, new).outcome == "created"


def test_a_batch_of_an_extraction_counts_created_evolved_skipped_and_errors(store: MemoryStore) -> None:
    """S4-14, S4-22: in order, and a bad item stops none of the others."""
    old, new = REFINEMENTS[4]
    batch = store.remember_many(
        [
            {"content": old, "kind": "knowledge"},
            {"content": old.lower().rstrip("."), "kind": "knowledge"},
            {"content": "", "kind": "knowledge"},
            {"content": "Grandma's soup has leeks in it.", "kind": "knowledge"},
            {"content": new, "kind": "knowledge"},
        ]
    )
    assert [error.index for error in batch.errors] == [2]
    last = batch.results[4]
    assert (
        last is not None
        and last.outcome == told(store.in_namespace(f"{store.namespace}/alone"), old, new, kind="knowledge").outcome
    )
    assert batch.counts["duplicate"] == 1 and batch.counts["created"] >= 2


def test_what_is_like_a_text_can_be_asked_for_without_writing(store: MemoryStore) -> None:
    """S4-7: id, content and similarity, nearest first; by text in place of a vector."""
    for old, _ in REFINEMENTS:
        store.remember(old, kind="knowledge")
    hits = store.recall(REFINEMENTS[4][1], mode="semantic", where=Filter(kinds=("knowledge",)))
    cosines = [hit.parts["cosine"] for hit in hits]
    assert hits[0].memory.content == REFINEMENTS[4][0]
    assert None not in cosines and cosines == sorted(cosines, key=lambda value: -(value or 0.0))


# --------------------------------------------------------------------------------------------
# The matrix of conflicts


MODES = pytest.mark.parametrize(("mode", "importance"), [("supersede", 0.9), ("supersede_sure", 0.3), ("warn", 0.3)])


@MODES
def test_a_repeat_under_supersede_raises_the_importance_and_a_wording_does_not(
    store: MemoryStore, mode: Any, importance: float
) -> None:
    """S2-28: a wording changes nothing of its head."""
    for old, new in (("Use ruff for linting.", "use ruff for linting"), *WORDINGS):
        here = store.in_namespace(f"{store.namespace}/{next(_numbers)}")
        first = here.remember(old, importance=0.3).memory
        assert first is not None
        result = here.remember(new, importance=0.9, on_conflict=mode)
        verbatim = canonical(old) == canonical(new)
        assert result.outcome == ("duplicate" if verbatim else "restated")
        assert here.get(first.id, touch=False).importance == (importance if verbatim else 0.3)


@MODES
def test_to_the_letter_a_paraphrase_under_supersede_raises_the_importance_too(
    letter: MemoryStore, mode: Any, importance: float
) -> None:
    """S2-28: merged into the stored one, verbatim and paraphrased."""
    merged = 0
    for old, new in (("Use ruff for linting.", "use ruff for linting"), *WORDINGS):
        here = letter.in_namespace(f"raised/{next(_numbers)}")
        first = here.remember(old, importance=0.3).memory
        assert first is not None
        result = here.remember(new, importance=0.9, on_conflict=mode)
        merged += result.outcome == "duplicate"
        raised = importance if result.outcome == "duplicate" else 0.3
        assert here.get(first.id, touch=False).importance == raised
        if result.outcome == "created":  # the model is not sure, or a rule forbids: nothing is lost, and it is told
            assert result.links or result.conflicts or result.matches[0].relation != "same"
    assert merged >= 3


@pytest.mark.parametrize(
    ("old", "new", "by_rules"),
    [
        ("User likes coffee", "User hates coffee", False),
        ("Ana prefers tea", "Ana prefers coffee these days", False),
        ("Deploys on Friday are fine", "Deploys on Friday are a bad idea", False),
        ("The retry limit is 3", "The retry limit is 5", True),
    ],
)
def test_a_near_contradiction_is_listed_where_ones_own_function_says_so(
    store: MemoryStore, old: str, new: str, *, by_rules: bool
) -> None:
    """S2-24, S2-25: the function is asked once, whatever the model thinks, unless the rules have found it."""
    asked = []
    store.remember(old)
    result = store.remember(new, contradiction_fn=lambda *pair: asked.append(pair) or True)
    assert result.matches[0].similarity is not None and result.matches[0].similarity >= 0.80
    assert [item.reason for item in result.conflicts] == (["value_diff"] if by_rules else ["custom_fn"])
    assert len(asked) == (0 if by_rules else 1)
