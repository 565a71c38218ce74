"""Official recall and further figures, and the baseline rankings."""

from __future__ import annotations

import numpy as np
import pytest

from wellkept.evaluation.retrieval_baseline import PLAYED, Lucene, Pool, played
from wellkept.evaluation.retrieval_metrics import Answer, ceiling, compare, measure
from wellkept.evaluation.retrieval_reading import Question

TEXTS = ["Ana: I have moved.", "Ben: Where to?", "Ana: To Lisbon!", "Kim: The move of the rook was brilliant."]
POOL = Pool(TEXTS, [[0, 1, 2], [3]], np.eye(4, dtype=np.float32))


def answer(evidence: str, *found: str, group: str = "single_hop", tokens: int = 3) -> Answer:
    said = tuple(tuple(hit.split("+")) for hit in found)
    return Answer(Question(evidence, "c", "?", group, tuple(evidence.split())), said, (tokens,) * len(said))


@pytest.mark.parametrize(
    ("evidence", "found", "at_5", "at_10"),
    [
        ("a", ["a"], 1.0, 1.0),
        ("a b", ["a"], 0.5, 0.5),
        ("a", ["x", "x", "x", "x", "x", "a"], 0.0, 1.0),
        ("a b", ["a+b"], 1.0, 1.0),  # a merged memory says all its sources
        ("a", [], 0.0, 0.0),
        ("a", ["a", "a"], 1.0, 1.0),
    ],
)
def test_recall_is_the_share_of_the_evidence(evidence: str, found: list[str], at_5: float, at_10: float) -> None:
    metrics = measure([answer(evidence, *found)], "locomo")["metrics"]
    assert (metrics["recall_at_5"], metrics["recall_at_10"]) == (at_5, at_10)


def test_any_and_all_are_told_apart_from_the_share() -> None:
    metrics = measure([answer("a b", "a"), answer("c", "c"), answer("d", "x")], "locomo")["metrics"]
    assert metrics["recall_at_5"] == pytest.approx(0.5)
    assert metrics["hit_any_at_5"] == pytest.approx(2 / 3, abs=1e-6)
    assert metrics["hit_all_at_5"] == pytest.approx(1 / 3, abs=1e-6)


def test_adversarial_questions_count_in_all_five_and_not_in_one_to_four() -> None:
    report = measure([answer("a", "a", group="adversarial"), answer("b", "x")], "locomo")
    assert report["metrics"]["recall_at_10"] == 0.5
    assert report["metrics"]["recall_at_10_no_adversarial"] == 0.0
    assert report["metrics"]["by_group"]["adversarial"]["recall_at_5"] == 1.0
    assert report["counts"]["by_group"]["single_hop"]["recall_at_5"] == [0, 1]


def test_questions_after_lists_are_told_apart_in_beam() -> None:
    metrics = measure([answer("a", "a", group="event_ordering"), answer("b", "x", group="temporal")], "beam")["metrics"]
    assert (metrics["recall_at_5"], metrics["recall_at_5_no_lists"]) == (0.5, 0.0)


def test_tokens_are_those_of_the_first_hits() -> None:
    metrics = measure([answer("a", *"abcdefghij", tokens=7)], "locomo")["metrics"]
    assert (metrics["tokens_at_5"], metrics["tokens_at_10"]) == (35, 70)


def test_intervals_hold_the_figure_and_are_the_same_each_time() -> None:
    answers = [answer("a", "a" if number % 3 else "x") for number in range(40)]
    first, second = measure(answers, "locomo"), measure(answers, "locomo")
    assert first == second  # I4
    low, high = first["intervals"]["recall_at_5"]
    assert low < first["metrics"]["recall_at_5"] < high


def test_a_comparison_is_paired_so_that_a_steady_gain_is_sure() -> None:
    hard = [answer("a b", "x") for _ in range(30)] + [answer("a b", "a") for _ in range(30)]
    better = [answer("a b", *(sources for found in one.found for sources in found), "b") for one in hard]
    gain = compare(better, hard, "locomo")
    assert gain["difference"]["recall_at_5"] == 0.5
    assert gain["intervals"]["recall_at_5"] == [0.5, 0.5]  # unpaired, the hard half would blur it
    assert (gain["better"], gain["worse"]) == (60, 0)


def test_nothing_asked_is_no_figure() -> None:
    with pytest.raises(ValueError, match="nothing"):
        measure([], "locomo")


def test_the_ceiling_is_what_any_document_says() -> None:
    asked = [answer("a b", "a").question, answer("c", "c").question]
    assert ceiling(asked, lambda _: frozenset("ac")) == 0.75


def test_bm25_is_the_formula_of_lucene() -> None:
    scores = Lucene([["tea", "tea", "cup"], ["cup"]]).scores(["tea"])
    rarity = np.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert scores == pytest.approx([rarity * 2 / (2 + 1.5 * (1 - 0.75 + 0.75 * 3 / 2)), 0.0])
    assert Lucene([]).scores(["tea"]) == []
    assert Lucene([[], []]).scores(["tea"]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "vector", "expected"),
    [
        ("bm25", None, [0, 2, 3]),
        ("words", None, [0, 2, 3]),
        ("meaning", (0.0, 0.0, 1.0, 0.5), [2, 3]),
        ("meaning", None, []),
        ("fused", (0.0, 0.0, 1.0, 0.0), [2, 0, 3]),
        ("fused", None, [0, 2, 3]),
        ("context", None, [0, 2, 1, 3]),  # "Where to?" is said beside "I have moved."
    ],
)
def test_rankings_by_name(name: str, vector: tuple[float, ...] | None, expected: list[int]) -> None:
    given = None if vector is None else np.asarray(vector, dtype=np.float32)
    assert played(name, POOL, "Has Ana moved?", given, limit=10) == expected
    assert played(name, POOL, "Has Ana moved?", given, limit=1) == expected[:1]


def test_every_ranking_leaves_out_what_has_nothing_to_do_with_the_query() -> None:
    for name in PLAYED:
        assert played(name, POOL, "zebra", None, limit=10) == []
