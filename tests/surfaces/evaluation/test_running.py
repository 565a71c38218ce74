"""Pairs and stories are written to a real store, and its resulting content is scored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from wellkept.core.judging.risk_bounds import NEVER, Bounds
from wellkept.errors import InvalidText, UnknownKind
from wellkept.evaluation.labelled_files import Gold, Pair, Story, read_stories
from wellkept.evaluation.ledger import WriteSeen
from wellkept.evaluation.outcome import Change, Seen, seen
from wellkept.evaluation.run import Judging, Setup, StoryClock, Warm, embedded_text, opened, run_pairs, run_stories
from wellkept.evaluation.story_metrics import StorySeen, measure
from wellkept.models.hashing import HashingEmbedder
from wellkept.policy import Policy, Risk
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import Match, Memory, Opinion, Reason, Relation, WriteResult

PORT_A, PORT_B = "The staging server listens on port 8080.", "The staging server listens on port 9090."
CUPS, FAIR = "Cups are kept downstairs.", "The fair opens in May."


def setup_of(**fields: Any) -> Setup:
    return replace(Setup(embedder=Warm(HashingEmbedder()), judging="rules"), **fields)


def ran(old: str, new: str, *, gold: Gold = "same", subject: str = "", **fields: Any) -> Seen:
    pair = Pair(id="1", old=old, new=new, gold=gold, subject=subject, place="f.jsonl, line 7")
    [case] = run_pairs([pair], setup_of(**fields))
    return case.seen


def test_the_store_has_indexes_and_is_removed_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a crowd of 20,000 a store in memory scanned all of it several times for each write."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with opened(setup_of(), StoryClock()) as store:
        assert isinstance(store._ctx.storage, SqliteStorage)
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_other_texts_end_as_two_rows_and_no_match() -> None:
    found = ran(CUPS, FAIR)
    assert (found.relation, found.outcome, found.kept, found.active) == ("none", "created", "stored", 2)


def test_a_repeat_ends_as_one_row_without_the_new_text() -> None:
    found = ran("Use ruff for linting.", "use ruff for linting")
    assert (found.relation, found.outcome, found.kept, found.active, found.holds_new) == (
        "same",
        "duplicate",
        "lost",
        1,
        False,
    )


def test_a_replaced_value_is_seen_as_a_conflict_decision() -> None:
    # Preset `fact`: one value replaced in the same statement supersedes (design §4).
    embedder = Warm(FakeEmbedder({(PORT_A, PORT_B): 0.97}))
    found = ran(PORT_A, PORT_B, kind="fact", embedder=embedder)
    assert (found.relation, found.outcome, found.hidden, found.active, found.holds_new) == (
        "conflict",
        "superseded",
        "conflict",
        1,
        True,
    )


HALL = "It is held in the town hall."


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (f"{FAIR}\n\n[2026-01-05] {HALL}", "evolved"),
        ("The fair opens in May, and it is held in the town hall.", "evolved"),  # its words, not to the letter
        (f"{FAIR}\n\n[2026-01-05] It is held.", "lost"),  # the row grew, but by something else
        (FAIR, "lost"),
    ],
)
def test_an_appended_text_is_kept_in_the_row_that_grew(content: str, kept: str) -> None:
    old = memory_of(FAIR)
    grown = replace(old, content=content, version=2)
    result = WriteResult(outcome="evolved", memory=grown)
    change = Change(text=HALL, result=result, before={old.id: old}, after={old.id: grown})
    found = seen(change, old_id=old.id)
    assert (found.kept, found.active, found.holds_new) == (kept, 1, kept == "evolved")


def test_words_that_the_row_held_before_do_not_count_as_kept() -> None:
    # "Deploy on Monday" is all in "Never deploy on Monday", which was not changed: the new text is lost.
    old = memory_of("Never deploy on Monday.")
    result = WriteResult(outcome="duplicate", memory=old)
    change = Change(text="Deploy on Monday.", result=result, before={old.id: old}, after={old.id: old})
    assert seen(change, old_id=old.id).kept == "lost"


@pytest.mark.parametrize(
    ("relation", "rule", "hidden"),
    [
        ("conflict", "same_subject", "conflict"),
        ("variant", "conflict_supersede", "conflict"),
        ("refines", "refinement", "other"),
        ("none", "same_subject", "other"),
    ],
)
def test_the_decision_that_hid_a_memory_is_told_apart(relation: Relation, rule: str, hidden: str) -> None:
    old = memory_of(FAIR)
    new = replace(old, id="m2", content=HALL)
    match = Match("m1", FAIR, "ACTIVE", "vector", relation, "supersede")
    result = WriteResult(outcome="superseded", memory=new, matches=(match,), reasons=(Reason(rule, ""),))
    after = {"m1": replace(old, status="superseded"), "m2": new}
    assert seen(Change(text=HALL, result=result, before={"m1": old}, after=after), old_id="m1").hidden == hidden


def memory_of(content: str) -> Memory:
    now = datetime(2026, 1, 5, tzinfo=UTC)
    return Memory(id="m1", namespace="n", content=content, created_at=now, updated_at=now)


def test_a_refused_conflict_counts_as_told_to_the_caller() -> None:
    policy = Policy().with_conflict("fact", "raise")
    embedder = Warm(FakeEmbedder({(PORT_A, PORT_B): 0.97}))
    found = ran(PORT_A, PORT_B, kind="fact", policy=policy, embedder=embedder)
    assert (found.relation, found.outcome, found.kept) == ("conflict", "refused", "flagged")


@pytest.mark.parametrize(("with_subject", "active"), [(False, 2), (True, 1)])
def test_subjects_are_passed_only_when_asked(with_subject: bool, active: int) -> None:  # noqa: FBT001
    # S3-5: a fact of the same subject supersedes.
    found = ran("status PLANNED", "is shipped", subject="006", kind="fact", with_subject=with_subject)
    assert found.active == active


def test_pairs_do_not_see_each_other() -> None:
    pairs = [Pair(id=str(n), old=CUPS, new=FAIR, gold="distinct") for n in range(70)]
    assert {(case.seen.outcome, case.seen.active) for case in run_pairs(pairs, setup_of())} == {("created", 2)}


def test_a_text_that_cannot_be_stored_names_its_line() -> None:
    with pytest.raises(InvalidText) as caught:
        ran("a\x00b", FAIR)
    assert caught.value.where.startswith("f.jsonl, line 7")


def test_progress_is_told_up_to_the_last_pair() -> None:
    told: list[int] = []
    run_pairs([Pair(id=str(n), old=CUPS, new=FAIR, gold="distinct") for n in range(130)], setup_of(), told.append)
    assert told == [64, 128, 130]


class Counting(HashingEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls.append(len(texts))
        return super().embed(texts)


def test_the_texts_of_many_pairs_are_embedded_in_one_batch() -> None:
    counting = Counting()
    pairs = [Pair(id=str(n), old=f"Cup {n} is blue.", new=f"Lamp {n} burns.", gold="distinct") for n in range(20)]
    run_pairs(pairs, setup_of(embedder=Warm(counting)))
    assert counting.calls == [40]


def test_warm_vectors_are_those_the_store_asks_for() -> None:
    warm = Warm(Counting())
    assert warm.cosine("semantic", CUPS, CUPS) == pytest.approx(1.0, abs=1e-5)
    assert embedded_text("fact", CUPS) == CUPS


class Sure:
    """A relation model with one opinion of everything."""

    id = "sure@1"
    defers = False

    def bounds(self, risk: Risk) -> Bounds:
        return NEVER

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        return [Opinion(0.97, 0.01, 0.0, 0.01, 0.01, self.id) for _ in pairs]


@pytest.mark.parametrize(("judging", "model", "same"), [("default", "sure@1", 0.97), ("rules", "", None)])
def test_what_the_relation_model_says_is_read_from_the_match(judging: Judging, model: str, same: float | None) -> None:
    old, new = "Ana leads the pottery group.", "The pottery group is led by Ana."
    embedder = Warm(FakeEmbedder({(old, new): 0.9}))
    found = ran(old, new, embedder=embedder, judging=judging, relation_model=Sure())
    assert found.model == model
    assert (found.same, found.confidence) == (same, same)


def test_a_repeat_that_a_difference_forbids_can_be_none_at_any_bound() -> None:
    # I2: whatever the model believes, 8080 is not 9090.
    embedder = Warm(FakeEmbedder({(PORT_A, PORT_B): 0.97}))
    found = ran(PORT_A, PORT_B, embedder=embedder, judging="default", relation_model=Sure())
    assert found.relation != "same"
    assert found.same is None


def test_equal_texts_are_the_same_for_certain() -> None:
    assert ran("Use ruff for linting.", "use ruff for linting").same == 1.0


# --------------------------------------------------------------------------------------------
# Stories


def story(*writes: tuple[str, str], queries: list[dict[str, Any]] | None = None, kind: str = "note") -> Story:
    rows = []
    for day, (text, truth) in enumerate(writes, 5):
        row: dict[str, Any] = {"t": f"2026-01-{day:02}T09:00", "text": text, "kind": kind, "truth": truth}
        if truth.endswith("!late"):
            row |= {"truth": truth.removesuffix("!late"), "event_time": "2024-01-01T00:00"}
        rows.append(row)
    line = {"id": "own", "writes": rows, "queries": queries or []}
    [read] = read_stories("own.jsonl", [json.dumps(line).encode()])
    return read


def lived(told: Story, **fields: Any) -> StorySeen:
    [seen] = run_stories([told], setup_of(with_subject=True, **fields))
    return seen


def flags(seen: WriteSeen) -> tuple[str, bool, int, bool]:
    return seen.kept, seen.duplicate_missed, len(seen.wrongly_hidden), seen.stale_left


TEA, TEA_AGAIN, TEA_NEW = "Tea is served at four.", "At four there is tea.", "Tea moved to half past five."


def test_a_store_that_keeps_everything_leaves_repeats_and_stale_rows() -> None:
    seen = lived(
        story(
            (TEA, "K1=four"),
            (TEA_AGAIN, "restates K1"),
            (TEA_NEW, "updates K1=half past five"),
            ("Tea now comes with cake on Fridays.", "refines K1"),
            ("Tea used to be at three, says the old plan.", "K1=three!late"),
            ("Stamps lie in the left drawer.", "noise"),
            queries=[{"q": "When is tea served?", "answer_contains": "half past", "must_not_rank_first": ["at four"]}],
        ),
        kind="note",
    )
    assert [flags(write) for write in seen.writes] == [
        ("stored", False, 0, False),
        ("stored", True, 0, False),
        ("stored", False, 0, True),
        ("stored", False, 0, False),
        ("stored", False, 0, False),
        ("stored", False, 0, False),
    ]
    metrics = measure([seen])["metrics"]
    assert metrics["duplicates_missed_per_100"] == pytest.approx(100 / 6, abs=1e-6)
    assert metrics["stale_left"] == 1.0
    assert metrics["lost_updates"] == 0.0
    assert metrics["noise_stored"] == 1.0


def test_a_restatement_after_an_update_is_no_repeat_of_the_old_value() -> None:
    # The stale row does not say what is restated; only the new one does.
    seen = lived(story((TEA, "K1=four"), (TEA_NEW, "updates K1=x"), ("From half past five: tea.", "restates K1")))
    assert seen.writes[2].duplicate_missed


def test_an_update_that_is_dropped_as_a_repeat_is_lost() -> None:
    seen = lived(story((TEA, "K1=four"), ("tea is served at four", "updates K1=x")))
    assert seen.writes[1].kept == "lost"
    assert measure([seen])["metrics"]["lost_updates"] == 1.0


def by_subject(*writes: tuple[str, str]) -> StorySeen:
    """A store whose facts all share one subject, so that each hides the one before it (S3-5)."""
    told = story(*writes, kind="fact")
    return lived(replace(told, writes=tuple(replace(write, subject="kitchen") for write in told.writes)))


@pytest.mark.parametrize(
    ("truth", "wrong"),
    [
        ("K2=x", 1),  # another key's row is hidden
        ("updates K1=x", 0),
        ("restates K1", 0),  # the same value in other words takes its place
        ("refines K1", 0),
        ("noise", 1),
    ],
)
def test_hiding_a_row_is_wrong_where_it_still_holds(truth: str, wrong: int) -> None:
    seen = by_subject(("Tea is served at four o'clock sharp.", "K1=four"), ("Lamps are checked by Ana.", truth))
    assert [len(write.wrongly_hidden) for write in seen.writes] == [0, wrong]
    # The row before is hidden, so nothing is said twice.
    assert not any(write.duplicate_missed for write in seen.writes)


def test_a_restatement_must_not_hide_a_detail() -> None:
    seen = by_subject(
        ("Tea is served at four o'clock sharp.", "K1=four"),
        ("Fridays bring cake along with it.", "refines K1"),
        ("Four is when they pour the tea.", "restates K1"),
    )
    assert seen.writes[2].wrongly_hidden == ("Fridays bring cake along with it.",)


def test_a_late_import_must_not_hide_what_holds() -> None:
    seen = by_subject(("Tea is served at four o'clock sharp.", "K1=four"), ("Pouring happened at three.", "K1=3!late"))
    # It is older by its event time (B-35), so it is hidden itself, which is right.
    assert seen.writes[1].wrongly_hidden == ()
    assert (seen.writes[1].kept, seen.writes[1].is_own_row) == ("stored", False)


def test_writes_happen_at_their_own_times() -> None:
    # S3-13: an ongoing episode is the same one within 30 minutes; these lie a day apart.
    seen = lived(story((TEA, "K1=four"), (TEA, "restates K1"), kind="episode"))
    assert [write.outcome for write in seen.writes] == ["created", "created"]
    assert seen.writes[1].duplicate_missed


def test_answers_are_compared_in_exact_case_over_the_first_hits() -> None:
    seen = lived(
        story(
            ("The lake house key hangs on Hook Nine.", "K1=nine"),
            queries=[
                {"q": "Where is the lake house key?", "answer_contains": "Hook Nine"},
                {"q": "Where is the lake house key?", "answer_contains": "hook nine"},
                {"q": "lake house key", "answer_contains": "Nine", "must_not_rank_first": ["lake house"]},
            ],
        )
    )
    metrics = measure([seen])["metrics"]
    assert metrics["current_first"] == pytest.approx(2 / 3, abs=1e-6)
    assert metrics["current_in_top_3"] == pytest.approx(2 / 3, abs=1e-6)
    assert (metrics["stale_first"], metrics["stale_first_all"]) == (1.0, pytest.approx(1 / 3, abs=1e-6))


@pytest.mark.parametrize(
    ("writes", "once"),
    [
        ([(TEA, "K1=four"), ("Four is when they pour the tea.", "restates K1")], 0.0),
        ([(TEA, "K1=four"), ("Fridays bring cake along with the tea.", "refines K1")], 1.0),  # it says more
        ([(TEA, "K1=four"), ("Tea is served at five from now on.", "updates K1=five")], 1.0),  # another value
        ([(TEA, "K1=four"), ("Lamps are checked by Ana.", "K2=Ana"), ("Done with it!", "noise")], 1.0),
    ],
)
def test_a_fact_is_shown_twice_where_two_of_the_first_hits_say_the_same_value(
    writes: list[tuple[str, str]], once: float
) -> None:
    asked = [{"q": "When is tea?", "answer_contains": "four"}]
    seen = lived(story(*writes, kind="note", queries=asked))
    assert measure([seen])["metrics"]["each_once"] == once


def test_an_unknown_kind_of_a_story_names_the_write() -> None:
    with pytest.raises(UnknownKind) as caught:
        lived(story((TEA, "K1=four"), kind="rumour"))
    assert caught.value.where.startswith("own.jsonl, line 1, write 1")
