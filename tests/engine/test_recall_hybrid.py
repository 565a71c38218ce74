"""Recall by four signals and more: weights as a value, every part told, and what links add (source 002)."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores import EVERY_BACKEND, desk
from wellkept.errors import InvalidField, ModelUnavailable
from wellkept.testing.clock import FrozenClock
from wellkept.types import ExpandSpec, Filter, Hit, Hits, HybridWeights, Link

ZERO = {"cosine": 0.0, "lexical": 0.0, "recency": 0.0, "importance": 0.0}
TEXTS = ("Remark about apples", "Remark about bridges", "Remark about candles")


def found(table, query, **options):
    return [hit.memory.content for hit in table.store.recall(query, **options)]


def shelf(table, *cosines, query="the question", **fields):
    """A text for each cosine with the query, an hour apart."""
    rows = []
    for number, cosine in enumerate(cosines):
        text = f"Remark about item{number}"
        if cosine:
            table.near(text, query, cosine)
        rows.append(table.store.remember(text, **fields).memory)
        table.clock.advance(hours=1)
    return rows


# --------------------------------------------------------------------------------------------
# Modes


@pytest.mark.parametrize("mode", ["default", "semantic", "hybrid"])
def test_every_mode_gives_hits_of_one_shape(table, mode):
    """S2-5, S2-13."""
    shelf(table, 0.4, 0.35)
    answer = table.store.recall("the question", mode=mode)
    assert isinstance(answer, Hits) and isinstance(answer, tuple) and len(answer) == 2
    assert all(isinstance(hit, Hit) and isinstance(hit.score, float) for hit in answer)
    assert [hit.rank for hit in answer] == [1, 2]


@pytest.mark.parametrize("mode", ["default", "semantic", "hybrid"])
def test_an_empty_pool_gives_nothing_in_every_mode(table, mode):
    """S2-8."""
    assert table.store.recall("anything", mode=mode) == ()
    table.store.remember("Remark about apples")
    assert table.store.recall("anything", mode=mode, where=Filter(kinds=("lesson",))) == ()


def test_hybrid_is_the_weighted_sum_of_its_parts(make):
    """S2-2, S2-3, S2-6: .55 meaning, .20 words, .15 freshness, .10 importance."""
    table = make()
    table.near("Use ruff", "ruff linting", 0.5)
    table.store.remember("Use ruff", importance=0.8)
    table.clock.advance(days=3)
    [hit] = table.store.recall("ruff linting", mode="hybrid")
    assert hit.parts == {"cosine": 0.5, "lexical": 1.0, "recency": round(math.exp(-0.3), 4), "importance": 0.8}
    assert hit.score == pytest.approx(0.55 * 0.5 + 0.20 + 0.15 * math.exp(-0.3) + 0.10 * 0.8, abs=1e-6)
    assert hit.weights == pytest.approx({"cosine": 0.55, "lexical": 0.20, "recency": 0.15, "importance": 0.10})


def test_the_weight_of_words_is_spread_over_the_others_where_no_document_holds_one(make):
    """D2."""
    table = make()
    table.near("Use ruff", "linting", 0.5)
    table.store.remember("Use ruff")
    [hit] = table.store.recall("linting", mode="hybrid")
    assert "lexical" not in hit.weights and sum(hit.weights.values()) == pytest.approx(1.0)
    assert hit.score == pytest.approx((0.55 * 0.5 + 0.15 + 0.10 * 0.5) / 0.8, abs=1e-6)


def test_semantic_is_the_plain_order_of_the_cosines(make):
    """S2-10: neither words nor importance nor a dispute move anything."""
    table = make()
    table.near("The limit is 0.85", "limit", 0.6)
    table.near("The limit is 0.95", "limit", 0.5)
    table.near("An unrelated remark", "limit", 0.55)
    for text in ("The limit is 0.85", "The limit is 0.95"):
        table.store.remember(text, kind="lesson", importance=0.9)
    table.store.remember("An unrelated remark", importance=0.1)
    hits = table.store.recall("limit", mode="semantic")
    assert [hit.score for hit in hits] == [0.6, 0.55, 0.5]
    assert [dict(hit.parts) for hit in hits] == [{"cosine": 0.6}, {"cosine": 0.55}, {"cosine": 0.5}]


def test_semantic_leaves_out_what_has_no_vector(make):
    table = make()
    table.fake.fail_with = ModelUnavailable("down")
    table.store.remember("Remark about apples")
    table.fake.fail_with = None
    assert found(table, "apples", mode="semantic") == []
    [left] = table.store.recall("apples", mode="semantic", explain=True).left_out
    assert left.why == "has no vector"


@pytest.mark.parametrize("mode", ["default", "semantic", "hybrid"])
def test_every_mode_answers_by_words_during_an_outage_and_says_so(make, mode):
    """I7."""
    table = make()
    for text in TEXTS:
        table.store.remember(text)
    table.fake.fail_with = ModelUnavailable("down")
    hits = table.store.recall("bridges", mode=mode)
    assert hits[0].memory.content == "Remark about bridges"
    assert hits[0].degraded == ("embedding",) and "cosine" not in hits[0].parts


# --------------------------------------------------------------------------------------------
# Goals of the source


@pytest.mark.parametrize(
    ("query", "identifier"),
    [("PR #441", "PR #441 renames the export module"), ("MemoryStore.recall", "MemoryStore.recall hides old rows")],
)
def test_an_exact_identifier_wins_over_vague_similarity(make, query, identifier):
    """S2-14, S2-58: with a mediocre embedding, and outside the pool of cosines."""
    table = make()
    for number in range(30):
        table.near(f"A vaguely similar text {number}", query, 0.17)
        table.store.remember(f"A vaguely similar text {number}")
    table.near(identifier, query, 0.05)
    table.store.remember(identifier)
    assert found(table, query, limit=1, mode="hybrid") == [identifier]


@pytest.mark.parametrize("basis", ["accessed", "created", "event"])
def test_of_two_nearly_equal_memories_the_newer_comes_first(make, basis):
    """S2-15, S2-58, B-20: a day old before a year old."""
    table = make()
    for text, days in (("We deploy on Mondays", 364), ("On Mondays we deploy", 1)):
        table.near(text, "when is the deploy", 0.5)
        table.store.remember(text)
        table.clock.advance(days=days)
    weights = HybridWeights(recency_basis=basis)
    assert found(table, "when is the deploy", mode="hybrid", weights=weights)[0] == "On Mondays we deploy"


@pytest.mark.parametrize(("basis", "newer_first"), [("accessed", False), ("created", True), ("event", False)])
def test_age_counts_from_the_basis_that_is_asked_for(make, basis, newer_first):
    """B-20: last use, creation, or the time it was so."""
    table = make()
    old = table.store.remember("Remark about apples", event_time="2026-03-02T00:00:00Z").memory
    table.clock.advance(days=30)
    table.store.remember("Remark about bridges", event_time="2026-02-01T00:00:00Z")
    table.clock.advance(days=30)
    table.store.get(old.id)  # read again
    weights = HybridWeights(**{**ZERO, "recency": 1.0}, recency_basis=basis)
    first = found(table, "remark", mode="hybrid", weights=weights)[0]
    assert (first == "Remark about bridges") is newer_first


@pytest.mark.parametrize("basis", ["accessed", "created", "event"])
def test_what_lies_in_the_future_counts_as_now(make, basis):
    """S2-11: an import, or a clock that was set back."""
    table = make()
    table.store.remember("Remark about apples", event_time="2030-01-01T00:00:00Z")
    table.store.recall("apples")
    table.clock.advance(days=-10)
    [hit] = table.store.recall("apples", mode="hybrid", weights=HybridWeights(recency_basis=basis))
    assert hit.parts["recency"] == 1.0


def test_the_more_important_of_two_equally_relevant_comes_first(make):
    """S2-58."""
    table = make()
    for text, importance in (("Remark about apples", 0.95), ("Remark about bridges", 0.3)):
        table.near(text, "the question", 0.5)
        table.store.remember(text, importance=importance)
    assert found(table, "the question", mode="hybrid") == ["Remark about apples", "Remark about bridges"]


def test_with_meaning_as_the_only_weight_hybrid_equals_semantic(make):
    """S2-16."""
    table = make()
    shelf(table, 0.1, 0.5, 0.3, 0.0, 0.4, importance=0.9)
    plain = table.store.recall("the question item2", mode="semantic", touch=False)
    weights = HybridWeights(**{**ZERO, "cosine": 1.0})
    mixed = table.store.recall("the question item2", mode="hybrid", weights=weights, touch=False)
    assert [hit.memory.id for hit in mixed] == [hit.memory.id for hit in plain]
    assert [hit.score for hit in mixed] == pytest.approx([hit.score for hit in plain])


@pytest.mark.parametrize("basis", ["accessed", "created", "event"])
def test_touching_changes_no_order_of_a_second_call_in_the_same_second(make, basis):
    """S2-17, with all three bases of age (B-20)."""
    table = make()
    for number, cosine in enumerate((0.31, 0.3, 0.32, 0.1, 0.25)):
        table.near(f"Remark about item{number}", "the question", cosine)
        table.store.remember(f"Remark about item{number}", importance=0.1 * number)
    table.clock.advance(days=40)
    weights = HybridWeights(recency_basis=basis)
    first = found(table, "the question", mode="hybrid", weights=weights)
    assert found(table, "the question", mode="hybrid", weights=weights) == first


@pytest.mark.parametrize(("basis", "stays"), [("created", True), ("event", True), ("accessed", False)])
def test_only_by_last_use_does_an_answer_make_its_own_hits_fresher(make, basis, stays):
    """B-20: why `created` is offered. The old one answers better, and once it was shown it is as fresh as the new."""
    table = make()
    for text, cosine in (("Remark about apples", 0.5), ("Remark about bridges", 0.4)):
        table.near(text, "the question", cosine)
        table.store.remember(text)
        table.clock.advance(days=60)
    weights = HybridWeights(recency_basis=basis, recency=0.3, decay_rate=0.02)
    first = found(table, "the question", mode="hybrid", weights=weights)
    assert first == ["Remark about bridges", "Remark about apples"]
    assert (found(table, "the question", mode="hybrid", weights=weights) == first) is stays


def test_ties_are_broken_by_importance_then_by_the_newer(make):
    """S2-12."""
    table = make()
    for text, importance in zip(TEXTS, (0.5, 0.5, 0.9), strict=True):
        table.near(text, "the question", 0.5)
        table.store.remember(text, importance=importance)
        table.clock.advance(hours=1)
    weights = HybridWeights(**{**ZERO, "cosine": 1.0})
    assert found(table, "the question", mode="hybrid", weights=weights) == [TEXTS[2], TEXTS[1], TEXTS[0]]


# --------------------------------------------------------------------------------------------
# One weight alone

SIGNALS = {
    "cosine": lambda row, at: row["cosine"],
    "lexical": lambda row, at: row["words"],
    "recency": lambda row, at: row["hour"],
    "importance": lambda row, at: row["importance"],
    "polarity": lambda row, at: row["polarity"],
    "confidence": lambda row, at: row["confidence"],
}
rows = st.lists(
    st.fixed_dictionaries(
        {
            "cosine": st.sampled_from([0.05, 0.1, 0.2, 0.3, 0.4]),
            "words": st.integers(0, 3),
            "importance": st.sampled_from([0.1, 0.5, 0.9]),
            "confidence": st.sampled_from([0.2, 0.6, 1.0]),
            "polarity": st.sampled_from([-1, 0, 1]),
        }
    ),
    min_size=1,
    max_size=5,
)


@given(written=rows, signal=st.sampled_from(sorted(SIGNALS)))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_with_one_weight_the_order_is_that_of_its_signal_on_both_backends(tmp_path_factory, written, signal):
    """S2-16 for every part; I9."""
    answers = []
    for backend in EVERY_BACKEND:
        folder: Path = tmp_path_factory.mktemp("one")
        table = desk(backend, folder, clock=FrozenClock())
        worth = {}
        for number, row in enumerate(written):
            words = " ".join(["linting"] * row["words"] + ["filler"] * (3 - row["words"]))
            text = f"Item{number} {words}"
            table.near(text, "linting", row["cosine"])
            fields = {name: row[name] for name in ("importance", "confidence", "polarity")}
            made = table.store.remember(text, on_conflict="ignore", **fields).memory
            worth[made.id] = SIGNALS[signal]({**row, "hour": number}, None)
            table.clock.advance(hours=1)
        weights = HybridWeights(**{**ZERO, signal: 1.0})
        hits = table.store.recall("linting", mode="hybrid", weights=weights, limit=5, touch=False)
        table.store.close()
        got = [worth[hit.memory.id] for hit in hits]
        assert got == sorted(got, reverse=True) and len(hits) == len(written)
        answers.append([(hit.memory.content, hit.score, dict(hit.parts)) for hit in hits])
    assert answers[0] == answers[1]


def test_activation_lifts_what_the_best_answer_is_linked_to(make):
    """An optional part; by itself a link changes nothing."""
    table = make()
    best, linked, loose = shelf(table, 0.6, 0.1, 0.1)
    table.store.link(linked.id, best.id, "refines")
    by_event = HybridWeights(recency_basis="event")
    assert found(table, "the question", mode="hybrid", weights=by_event, min_score=0)[1] == loose.content
    weights = HybridWeights(activation=0.3, recency_basis="event")
    hits = table.store.recall("the question", mode="hybrid", weights=weights, min_score=0)
    assert hits[1].memory.id == linked.id and hits[1].parts["activation"] == 1.0


# --------------------------------------------------------------------------------------------
# Weights and options as values


def test_the_weights_of_the_source_are_the_default_of_hybrid():
    """S2-6."""
    shares = {"cosine": 0.55, "lexical": 0.2, "recency": 0.15, "importance": 0.1}
    assert HybridWeights().shares() == shares
    assert HybridWeights().decay_rate == 0.1 and HybridWeights().recency_basis == "accessed"


def test_weights_that_are_all_zero_are_a_value_error():
    """S2-9."""
    with pytest.raises(ValueError, match="all weights are zero"):
        HybridWeights(**ZERO)


@pytest.mark.parametrize(
    ("field", "value"),
    [("cosine", -0.1), ("lexical", math.nan), ("recency", math.inf), ("importance", "1"), ("cosine", True),
     ("decay_rate", -1.0), ("recency_basis", "modified")],
)  # fmt: skip
def test_a_weight_is_a_number_from_0(field, value):
    with pytest.raises(InvalidField) as caught:
        HybridWeights(**{field: value})
    assert caught.value.where == f"weights.{field}" and caught.value.todo


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"mode": "fuzzy"}, "mode"),
        ({"mode": "hybrid", "weights": "nobody"}, "weights"),
        ({"mode": "hybrid", "weights": {"cosine": 1}}, "weights"),
        ({"weights": HybridWeights()}, "weights"),
        ({"mode": "semantic", "weights": "hybrid"}, "weights"),
        ({"overfetch": 0}, "overfetch"),
        ({"overfetch": 101}, "overfetch"),
        ({"expand": True}, "expand"),
        ({"as_of": "yesterday"}, "as_of"),
        ({"valid_at": 5}, "valid_at"),
        ({"as_of": "2026-01-01", "where": Filter(embedded=True)}, "where.embedded"),
        ({"where": "lesson"}, "where"),
        ({"where": Filter(min_importance=2.0)}, "where.min_importance"),
        ({"where": Filter(sources="chat")}, "where.sources"),
        ({"k": 5}, "k"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(table, options, where):
    with pytest.raises(InvalidField) as caught:
        table.store.recall("x", **options)
    assert caught.value.where == where and caught.value.todo
    assert table.fake.calls == 0, "refused before the model is asked"


@pytest.mark.parametrize("name", ["default", "hybrid", "hybrid-created", "hybrid-event"])
def test_weights_may_be_named(make, name):
    table = make()
    shelf(table, 0.4, 0.35)
    assert len(table.store.recall("the question", mode="hybrid", weights=name)) == 2


def test_overfetch_is_how_many_candidates_are_scored_for_each_hit(make):
    """S2-7: the other parts of the score cannot lift a memory outside the pool."""
    table = make()
    for number in range(12):
        table.near(f"Item{number}", "the question", 0.3 - number * 0.02)
        table.store.remember(f"Item{number}", importance=0.1 if number < 11 else 1.0)
    weights = HybridWeights(**{**ZERO, "importance": 1.0})
    assert found(table, "the question", limit=1, mode="hybrid", weights=weights) != ["Item11"]
    assert found(table, "the question", limit=1, mode="hybrid", weights=weights, overfetch=12) == ["Item11"]


# --------------------------------------------------------------------------------------------
# Filters


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(min_importance=0.8), {"a"}),
        (Filter(min_importance=0.1), {"a", "b"}),
        (Filter(sources=("chat",)), {"a"}),
        (Filter(sources=("chat", "wiki")), {"a", "b"}),
        (Filter(metadata={"team": "web"}), {"a"}),
        (Filter(metadata={"team": "web", "open": True}), {"a"}),
        (Filter(metadata={"open": 1}), set()),
        (Filter(metadata={"seats": [1, 2]}), {"b"}),
        (Filter(metadata={"nothing": None}), set()),
        (Filter(created_to="2026-01-02T00:00:00Z"), {"a"}),
        (Filter(created_from="2026-01-02T00:00:00Z"), {"b"}),
        (Filter(kinds=("lesson",), sources=("wiki",)), {"b"}),
    ],
)
def test_a_filter_narrows_recall_and_list_alike(make, where, expected):
    """S2-5: importance, time, source and metadata."""
    table = make()
    said = {"a": "Remark about apples", "b": "Remark about bridges"}
    table.store.remember(said["a"], importance=0.9, source="chat", metadata={"team": "web", "open": True})
    table.clock.advance(days=1)
    table.store.remember(said["b"], kind="lesson", importance=0.2, source="wiki", metadata={"seats": [1, 2]})
    texts = {said[name] for name in expected}
    assert set(found(table, "remark", where=where)) == texts
    assert {row.content for row in table.store.list(where)} == texts
    assert len(table.store.list(where, limit=1)) == min(1, len(texts))


def test_what_a_filter_leaves_is_found_however_many_others_are_nearer(make):
    """B-15: the filter is looked at before the pool is cut."""
    table = make()
    for number in range(40):
        table.near(f"Crowd item{number}", "the question", 0.15)
        table.store.remember(f"Crowd item{number}", importance=0.2)
    table.store.remember("A quiet remark", importance=0.9, source="chat", metadata={"team": "web"})
    for where in (Filter(min_importance=0.8), Filter(sources=("chat",)), Filter(metadata={"team": "web"})):
        for mode in ("default", "semantic", "hybrid"):
            assert found(table, "the question", limit=1, where=where, mode=mode, min_score=0) == ["A quiet remark"]


# --------------------------------------------------------------------------------------------
# Truth


def test_a_chain_of_replacements_shows_its_head_although_only_the_tail_is_near(make):
    """S2-29, S2-30: a→b→c; a near superseded memory leads to its head."""
    table = make()
    table.near("Lunch is at noon", "the question", 0.9)
    chain = [table.store.remember(text).memory for text in ("Lunch is at noon", "We eat at one", "Food comes at two")]
    for number in range(30):
        table.near(f"Crowd item{number}", "the question", 0.05)
        table.store.remember(f"Crowd item{number}")
    table.store.supersede(chain[0].id, chain[1].id)
    table.store.supersede(chain[1].id, chain[2].id)
    considered = table.store.recall("the question", limit=1, explain=True, min_score=0)
    told = {item.memory.id: item.why for item in considered.left_out}
    assert told[chain[0].id] == f"superseded by {chain[1].id}"
    assert chain[2].id in told and told[chain[2].id].startswith("ranked")
    assert found(table, "the question") == [chain[2].content]  # relevant as what it replaced
    shown = found(table, "the question", limit=40, mode="hybrid")
    assert chain[2].content in shown and not {chain[0].content, chain[1].content} & set(shown)
    everything = found(table, "the question", limit=40, include_superseded=True, min_score=0)
    assert everything[0] == "Lunch is at noon" and {row.content for row in chain} <= set(everything)


def test_replaced_rows_take_no_places_of_current_ones(make):
    """Eleven former versions are nearer than the current rows; all current ones are looked at still."""
    table = make()
    rows = []
    for number in range(12):
        table.near(f"Version {number} of the plan", "the question", 0.25)
        rows.append(table.store.remember(f"Version {number} of the plan", on_conflict="ignore").memory)
    for old, new in zip(rows, rows[1:], strict=False):
        table.store.supersede(old.id, new.id)
    for number in range(3):
        table.near(f"Crowd item{number}", "the question", 0.1 + number * 0.02)
        table.store.remember(f"Crowd item{number}")
    assert found(table, "the question", limit=2, mode="semantic", min_score=0) == [rows[-1].content, "Crowd item2"]


def test_ruff_and_flake8_are_told_as_a_conflict_and_the_newer_comes_first_by_injected_similarity(make):
    """S2-38: in hybrid too, although the older answers a little better."""
    table = make()
    table.near("Use ruff for linting", "Use flake8 for linting", 0.85)
    table.near("Use ruff for linting", "linting", 0.5)
    table.near("Use flake8 for linting", "linting", 0.45)
    for text in ("Use ruff for linting", "Use flake8 for linting"):
        table.store.remember(text)
        table.clock.advance(minutes=1)
    hits = table.store.recall("linting", mode="hybrid")
    assert [hit.memory.content for hit in hits] == ["Use flake8 for linting", "Use ruff for linting"]
    assert [(hit.rank, hit.scored_rank) for hit in hits] == [(1, 2), (2, 1)]
    assert [hit.conflicts[0].reason for hit in hits] == ["value_diff", "value_diff"]


# --------------------------------------------------------------------------------------------
# Reasons


def test_explain_tells_every_part_and_why_the_rest_was_left_out(make):
    table = make()
    texts = {"first": 0.5, "second": 0.4, "gone": 0.3, "stale": 0.2, "other": 0.1}
    rows = {}
    for name, cosine in texts.items():
        table.near(f"Remark: {name}", "the question", cosine)
        extra = {"expires_at": "2026-01-02T00:00:00Z"} if name == "stale" else {}
        rows[name] = table.store.remember(f"Remark: {name}", **extra).memory
    table.store.forget(rows["gone"].id)
    table.clock.advance(days=2)
    answer = table.store.recall("the question", limit=1, mode="hybrid", explain=True, min_score=0)
    [hit] = answer
    assert set(hit.parts) == {"cosine", "recency", "importance", "polarity", "confidence", "relevance"}
    assert set(hit.weights) == {"cosine", "recency", "importance"}
    assert {item.memory.content: item.why for item in answer.left_out} == {
        "Remark: second": "ranked 2 of 3, and 1 were asked for",
        "Remark: other": "ranked 3 of 3, and 1 were asked for",
        "Remark: gone": "archived",
        "Remark: stale": "expired at 2026-01-02T00:00:00Z",
    }
    narrow = table.store.recall("the question", where=Filter(tags=("red",)), explain=True)
    assert narrow == () and "does not fit the filter: tags" in {item.why for item in narrow.left_out}


def test_without_explain_nothing_is_told_beside_the_hits(make):
    table = make()
    shelf(table, 0.4, 0.35)
    answer = table.store.recall("the question", limit=1)
    assert (answer.left_out, answer.dangling, len(answer)) == ((), (), 1)


# --------------------------------------------------------------------------------------------
# Along links


@pytest.fixture
def linked(make):
    """A case that the question hits, the rule it is an example of, and what else hangs on them."""
    table = make()
    rows = {}
    for name in ("case", "rule", "detail", "far", "aside", "crowd"):
        text = f"A text about {name}"
        if name in ("case", "crowd"):
            table.near(text, "the question", {"case": 0.6, "crowd": 0.3}[name])
        rows[name] = table.store.remember(text, kind="lesson" if name == "rule" else "semantic").memory
    for src, dst, rel in (
        ("case", "rule", "example_of"),
        ("case", "detail", "refines"),
        ("rule", "far", "refines"),
        ("case", "aside", "related"),
        ("far", "case", "refines"),
    ):
        table.store.link(rows[src].id, rows[dst].id, rel)
    table.rows_by_name = rows
    return table


def names(table, answer):
    by_id = {row.id: name for name, row in table.rows_by_name.items()}
    return [by_id[hit.memory.id] for hit in answer]


ONE_KIND = Filter(kinds=("semantic",))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (ExpandSpec(), ["detail", "rule"]),
        (ExpandSpec(rels=("example_of",)), ["rule"]),
        (ExpandSpec(rels=("example_of", "refines")), ["rule", "detail"]),
        (ExpandSpec(depth=2), ["detail", "rule", "far"]),
        (ExpandSpec(depth=20), ["detail", "rule", "far"]),
        (ExpandSpec(cap=1), ["detail"]),
        (ExpandSpec(cap=0), []),
        (ExpandSpec(rels=("relates_to",)), ["aside"]),
        (ExpandSpec(rels=("unheard of",)), []),
    ],
)
def test_links_add_unseen_memories_behind_the_hits_in_full(linked, spec, expected):
    """S2-47, S2-52: by distance, each memory once, up to the limit, independent of the kind filter."""
    answer = linked.store.recall("the question", limit=1, where=ONE_KIND, expand=spec)
    assert names(linked, answer) == ["case", *expected]
    assert [hit.score for hit in answer[1:]] == [0.7] * len(expected)
    assert [hit.rank for hit in answer] == list(range(1, len(answer) + 1))
    assert all(hit.via is not None for hit in answer[1:]) and answer[0].via is None


def test_an_added_hit_has_the_configured_score_and_tells_its_link(linked):
    """S2-52."""
    answer = linked.store.recall("the question", limit=1, expand=ExpandSpec(rels=("refines",), score=0.25))
    rows = linked.rows_by_name
    assert (answer[1].score, answer[1].via) == (
        0.25, Link(rows["case"].id, rows["detail"].id, "refines", linked.clock()),
    )  # fmt: skip


def test_what_is_among_the_hits_is_not_added_again(linked):
    answer = linked.store.recall("text about case rule", limit=6, expand=ExpandSpec(), min_score=0)
    assert len({hit.memory.id for hit in answer}) == len(answer) == 6
    assert all(hit.via is None for hit in answer)


def test_hidden_memories_are_not_added_and_a_replaced_one_leads_to_its_head(linked):
    """S2-29, S2-30."""
    rows, store = linked.rows_by_name, linked.store
    store.forget(rows["detail"].id)
    store.supersede(rows["rule"].id, rows["aside"].id)
    answer = store.recall("the question", limit=1, expand=ExpandSpec(), explain=True)
    assert names(linked, answer) == ["case", "aside"]
    told = {item.memory.id: item.why for item in answer.left_out}
    assert told[rows["detail"].id] == "archived"
    assert told[rows["rule"].id] == f"superseded by {rows['aside'].id}"


def test_a_link_to_nowhere_is_reported(linked):
    """S2-42."""
    linked.store.link(linked.rows_by_name["case"].id, "no-such-id", "refines")
    answer = linked.store.recall("the question", limit=1, expand=ExpandSpec())
    assert answer.dangling == ("no-such-id",)
    assert names(linked, answer) == ["case", "detail", "rule"]


@pytest.mark.parametrize(
    ("values", "field"),
    [({"rels": ()}, "rels"), ({"rels": "refines"}, "rels"), ({"depth": 0}, "depth"), ({"depth": 21}, "depth"),
     ({"cap": -1}, "cap"), ({"cap": 2.0}, "cap"), ({"score": math.nan}, "score"), ({"score": "1"}, "score")],
)  # fmt: skip
def test_a_specification_that_cannot_be_used_is_refused(values, field):
    with pytest.raises(InvalidField) as caught:
        ExpandSpec(**values)
    assert caught.value.where == f"expand.{field}"


def test_memories_without_links_are_answered_with_nothing_added(make):
    """S2-54, S2-46."""
    table = make()
    shelf(table, 0.3)
    assert len(table.store.recall("the question", expand=ExpandSpec())) == 1
