"""Restatements that are kept as wordings and updates that are marks, with the packaged models, on every backend."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import wellkept
from letter import to_the_letter
from stores import EACH_BACKEND, place
from wellkept import Filter, MemoryStore, Policy
from wellkept.errors import IllegalTransition
from wellkept.testing.clock import FrozenClock
from wellkept.types import ALL_STATUSES, NewMemory

FOLDING = Policy.from_toml('[kinds.fact]\nrepeats = "fold"\nupdates = "mark"\n')
HEAD = "The invoices are sent by Marta."
WORDING = "Marta sends the invoices."
ALIKE = (
    ("The meeting room is booked every Tuesday at 10.", "Every Tuesday at 10 the meeting room is booked."),
    ("Backups run every night at two.", "Every night at two the backups run."),
    ("The team uses PostgreSQL for all services.", "All services of the team use PostgreSQL."),
)
OLD, NEW = "The website is hosted on Heroku.", "Since July we host the website on Render."


@pytest.fixture(params=EACH_BACKEND)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(backend: str, tmp_path: Path) -> Iterator[MemoryStore]:
    where = "memory:" if backend == "memory" else str(place(tmp_path / "store.db"))
    with wellkept.open(where, policy=FOLDING, clock=FrozenClock()) as opened:
        yield opened


def contents(store: MemoryStore, *statuses: str) -> list[str]:
    return [row.content for row in store.list(Filter(statuses=statuses or ("active",)))]


@pytest.mark.parametrize(("head", "wording"), [(HEAD, WORDING), *ALIKE])
def test_a_paraphrase_is_kept_behind_its_head_and_the_head_is_confirmed(store, head, wording):
    first = store.remember(head, kind="fact")
    again = store.remember(wording, kind="fact")
    assert (again.outcome, again.id) == ("restated", first.id)
    assert "another wording of" in again.message
    assert (again.memory.content, again.memory.confirmations) == (head, 1)
    assert contents(store) == [head]
    assert contents(store, "wording") == [wording]
    assert store.verify() == ()


def test_the_same_words_again_are_a_duplicate_of_the_head_whichever_wording_they_repeat(store):
    first = store.remember(HEAD, kind="fact")
    store.remember(WORDING, kind="fact")
    for text in (HEAD, WORDING, WORDING.upper()):
        assert (again := store.remember(text, kind="fact")).outcome == "duplicate"
        assert again.id == first.id
    assert contents(store, *ALL_STATUSES) == [HEAD, WORDING]


@pytest.mark.parametrize("again", [HEAD, HEAD.upper()])
@pytest.mark.parametrize("model", ["auto", "none"])
def test_the_same_words_in_another_kind_are_a_wording_and_then_a_duplicate(backend, tmp_path, again, model):
    """`check`, a batch, undo and replay agree with the write; no model reads equal texts."""
    where = "memory:" if backend == "memory" else str(place(tmp_path / "store.db"))
    with wellkept.open(where, clock=FrozenClock(), relation_model=model) as store:
        head = store.remember(HEAD, kind="fact")
        checked = store.check(again, kind="note")
        told = store.remember(again, kind="note")
        assert (told.outcome, told.id, told.memory.kind) == ("restated", head.id, "fact")
        assert (checked.outcome, checked.id, checked.reasons) == (told.outcome, told.id, told.reasons)
        assert [row.kind for row in store.list(Filter(statuses=("wording",)))] == ["note"]
        store.undo(told.entry)
        assert contents(store, "active", "wording") == [HEAD] and store.get(head.id).confirmations == 0
        assert store.remember(again, kind="note").outcome == "restated"
        assert [(one.outcome, one.id) for one in store.remember_many(
            [NewMemory(content=again, kind=kind) for kind in ("note", "lesson", "lesson", "fact", "episodic")]
        ).results] == [
            ("duplicate", head.id), ("restated", head.id), ("duplicate", head.id), ("duplicate", head.id),
            ("created", store.list(Filter(kinds=("episodic",)))[0].id),
        ]  # fmt: skip
        assert sorted(contents(store)) == sorted([HEAD, again])  # the raw chat is of no family
        assert store.verify() == () and store.replay(Policy()).differences == ()


def test_the_same_words_in_a_batch_of_several_kinds_are_one_memory(store):
    told = [NewMemory(content=HEAD, kind=kind) for kind in ("note", "fact", "note", "decision", "episode")]
    outcomes = [one.outcome for one in store.remember_many(told).results]
    assert outcomes == ["created", "restated", "duplicate", "restated", "created"]
    assert contents(store) == [HEAD, HEAD]  # an episode that goes on has an id that ends it
    assert store.verify() == ()


def test_under_the_letter_the_same_words_in_another_kind_are_another_memory(backend, tmp_path):
    where = "memory:" if backend == "memory" else str(place(tmp_path / "store.db"))
    with wellkept.open(where, policy=to_the_letter(), clock=FrozenClock()) as store:
        outcomes = [store.remember(HEAD, kind=kind).outcome for kind in ("fact", "note", "note")]
        assert outcomes == ["created", "created", "duplicate"]


def test_a_memory_that_is_revised_into_the_words_of_another_kind_is_listed_as_its_repeat(store):
    head = store.remember(HEAD, kind="fact")
    other = store.remember("The car is parked behind the house.", kind="note")
    store.revise(other.id, content=HEAD)
    (listed,) = store.conflicts()
    assert (listed.kind, {listed.a, listed.b}) == ("duplicate", {head.id, other.id})


def test_a_question_in_the_words_of_a_wording_finds_the_head_and_says_so(store):
    store.remember(HEAD, kind="fact")
    store.remember(WORDING, kind="fact")
    store.remember("The car is parked behind the house.", kind="fact")
    hits = store.recall("Marta sends the invoices")
    assert [hit.memory.content for hit in hits[:1]] == [HEAD]
    assert hits[0].wording is not None and hits[0].wording.content == WORDING
    assert [hit.memory.content for hit in hits].count(HEAD) == 1
    assert all(hit.memory.status == "active" for hit in hits)


def test_a_question_no_longer_meets_a_wording_that_has_expired():
    clock = FrozenClock()
    with wellkept.open("memory:", policy=FOLDING, clock=clock) as store:
        store.remember(HEAD, kind="fact")
        store.remember(WORDING, kind="fact", expires_at=clock() + timedelta(days=1))
        before = clock()
        (hit,) = store.recall(WORDING)
        assert hit.wording is not None and hit.wording.content == WORDING
        clock.advance(days=2)
        (hit,) = store.recall(WORDING)
        assert (hit.memory.content, hit.wording) == (HEAD, None)
        (hit,) = store.recall(WORDING, valid_at=before)
        assert hit.wording is not None  # it had not expired then


def test_undo_takes_the_wording_and_the_confirmation_back(store):
    store.remember(HEAD, kind="fact")
    before = store.list(Filter(statuses=ALL_STATUSES))
    store.undo(store.remember(WORDING, kind="fact").entry)
    after = store.list(Filter(statuses=ALL_STATUSES))
    assert [(row.content, row.confirmations, row.status) for row in after] == [
        (row.content, row.confirmations, row.status) for row in before
    ]


def test_restore_makes_a_wording_a_memory_of_its_own(store):
    head = store.remember(HEAD, kind="fact")
    store.remember(WORDING, kind="fact")
    wording = store.list(Filter(statuses=("wording",)))[0]
    with pytest.raises(IllegalTransition, match="stands behind"):
        store.unlink(wording.id, head.id, rel="restates")
    store.restore(wording.id)
    assert sorted(contents(store)) == sorted([HEAD, WORDING])
    assert store.get(wording.id).superseded_by == ""
    assert store.verify() == ()


def test_erasing_a_head_erases_its_wordings_and_erasing_a_wording_leaves_the_head(store):
    head = store.remember(HEAD, kind="fact")
    store.remember(WORDING, kind="fact")
    (wording,) = store.list(Filter(statuses=("wording",)))
    store.erase(wording.id)
    assert contents(store, "active", "wording") == [HEAD]
    assert store.remember(WORDING, kind="fact").outcome == "restated"
    store.erase(head.id)
    assert not any("Marta" in text for text in contents(store, *ALL_STATUSES))
    assert store.verify() == ()


def test_wordings_come_back_from_an_export_behind_their_head(store, tmp_path):
    store.remember(HEAD, kind="fact")
    store.remember(WORDING, kind="fact")
    store.export(tmp_path / "all.jsonl")
    other = store.in_namespace("copy")
    other.import_(tmp_path / "all.jsonl")
    assert contents(other) == [HEAD]
    assert contents(other, "wording") == [WORDING]
    assert other.verify() == ()


@pytest.mark.parametrize(
    ("plan", "deed"),
    [
        ("We will migrate to Postgres.", "We have migrated to Postgres."),
        ("We plan to migrate to Postgres.", "We migrated to Postgres."),
        ("Wir werden auf Postgres migrieren.", "Wir haben auf Postgres migriert."),
        ("Kim wants to move to Berlin.", "Kim has moved to Berlin."),
    ],
)
def test_a_deed_outdates_its_plan(store, plan, deed):
    old, new = store.remember(plan, kind="fact"), store.remember(deed, kind="note")
    (mark,) = store.conflicts()
    assert (new.outcome, mark.kind, mark.a, mark.b) == ("created", "outdated", old.id, new.id)
    assert [hit.memory.content for hit in store.recall(plan)] == [deed, plan]
    other = store.in_namespace("the other way round")
    assert [other.remember(text, kind="fact").outcome for text in (deed, plan)] == ["created", "created"]
    assert other.conflicts() == () and store.verify() == ()


def test_a_probable_update_marks_the_older_memory_and_comes_first(store):
    old = store.remember(OLD, kind="fact")
    new = store.remember(NEW, kind="fact")
    assert new.outcome == "created"
    (mark,) = store.conflicts()
    assert (mark.kind, mark.a, mark.b) == ("outdated", old.id, new.id)
    assert mark.probability is not None and mark.probability > 0.5
    assert [hit.memory.content for hit in store.recall(OLD)][:2] == [NEW, OLD]
    assert sorted(contents(store)) == sorted([OLD, NEW])  # nothing is hidden


@pytest.mark.parametrize(
    ("resolution", "left"),
    [("keep_new", [NEW]), ("keep_old", [OLD]), ("keep_both", [OLD, NEW]), ("dismissed", [OLD, NEW])],
)
def test_a_mark_is_settled_like_a_conflict(store, resolution, left):
    store.remember(OLD, kind="fact")
    store.remember(NEW, kind="fact")
    store.resolve(store.conflicts()[0].key, resolution)
    assert contents(store) == left
    assert store.conflicts() == ()


def test_the_usual_policy_keeps_wordings_and_marks_updates():
    with wellkept.open("memory:") as store:
        store.remember(HEAD, kind="fact")
        assert store.remember(WORDING, kind="fact").outcome == "restated"
        store.remember(OLD, kind="fact")
        store.remember(NEW, kind="fact")
        assert [item.kind for item in store.conflicts()] == ["outdated"]
        assert contents(store) == [HEAD, OLD, NEW]
        assert contents(store, "wording") == [WORDING]


def test_a_policy_to_the_letter_drops_restatements_and_marks_nothing():
    with wellkept.open("memory:", policy=to_the_letter()) as store:
        store.remember(HEAD, kind="fact")
        told = store.remember(WORDING, kind="fact")
        journaled = store.journal(newest=1)[0].dropped
        assert (told.outcome, journaled and journaled.content) == ("duplicate", WORDING)
        store.remember(OLD, kind="fact")
        store.remember(NEW, kind="fact")
        assert "outdated" not in {item.kind for item in store.conflicts()}
        assert contents(store, *ALL_STATUSES) == [HEAD, OLD, NEW]
