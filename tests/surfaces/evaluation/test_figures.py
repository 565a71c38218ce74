"""Definition of each figure: from the resulting store to a share (issue: judging, the metric names)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wellkept.evaluation import pair_metrics, public_metrics
from wellkept.evaluation.labelled_files import Gold, Pair
from wellkept.evaluation.outcome import Seen
from wellkept.evaluation.pair_metrics import Case, harms, measure
from wellkept.evaluation.ratios import Ratio, column, interval, recall_at, weights

STORED = Seen(relation="none", outcome="created", kept="stored", active=2, holds_new=True)
DROPPED = Seen(relation="same", outcome="duplicate", kept="lost", active=1, holds_new=False)
EVOLVED = Seen(relation="refines", outcome="evolved", kept="evolved", active=1, holds_new=True)
REPLACED = Seen(relation="conflict", outcome="superseded", kept="stored", active=1, holds_new=True, hidden="conflict")
REFINED = replace(REPLACED, relation="refines", hidden="other")
REFUSED = Seen(relation="conflict", outcome="refused", kept="flagged", active=1, holds_new=False)


def case(gold: Gold, seen: Seen, *, lang: str = "en", subtype: str = "", label: str = "") -> Case:
    return Case(Pair(id="1", old="a", new="b", gold=gold, lang=lang, subtype=subtype, label=label), seen)


def counted(gold: Gold, seen: Seen) -> set[str]:
    """The figures that count this pair as a hit."""
    return {name for name, ratio in harms([case(gold, seen)]).items() if ratio.value == 1.0}


HARMS: list[tuple[str, Gold, Seen, set[str]]] = [
    ("two rows are what a conflict may end as", "conflict", STORED, set()),
    ("a dropped update is lost and merged away", "conflict", DROPPED, {"updates_lost", "false_merges"}),
    ("a dropped detail is lost and merged away", "refines", DROPPED, {"updates_lost", "false_merges"}),
    ("a dropped other thing is merged away", "distinct", DROPPED, {"false_merges"}),
    ("a dropped repeat is what a repeat ends as", "same", DROPPED, set()),
    ("a dropped unrelated text stands apart", "unrelated", DROPPED, {"unrelated_touched"}),
    ("an appended detail is kept", "refines", EVOLVED, set()),
    ("a replaced value is right", "conflict", REPLACED, set()),
    ("a refused update was told to the caller", "conflict", REFUSED, set()),
    ("a repeat called a conflict hides what holds", "same", REPLACED, {"wrong_supersessions"}),
    ("a detail called a conflict hides what holds", "refines", REPLACED, {"wrong_supersessions"}),
    ("a fuller text may take the place of the old one", "refines", REFINED, {"replaced_by_refinement"}),
    ("a repeat may take the place of the old one", "same", REFINED, set()),
    ("of two true things none may be hidden, by whatever act", "distinct", REFINED, {"wrong_supersessions"}),
    ("two rows of a repeat are left", "same", STORED, {"duplicates_missed"}),
    (
        "a repeat that was only listed is left all the same",
        "same",
        replace(STORED, repeat_flagged=True),
        {"duplicates_missed", "repeats_flagged"},
    ),
]


@pytest.mark.parametrize(("gold", "seen", "names"), [row[1:] for row in HARMS], ids=[row[0] for row in HARMS])
def test_what_was_done_counts_in_the_right_figures(gold: Gold, seen: Seen, names: set[str]) -> None:
    assert counted(gold, seen) == names


@pytest.mark.parametrize(
    ("name", "golds"),
    [
        ("updates_lost", {"conflict", "refines"}),
        ("false_merges", {"distinct", "refines", "conflict"}),
        ("duplicates_missed", {"same"}),
        ("wrong_supersessions", {"distinct", "same", "refines"}),
        ("unrelated_touched", {"unrelated"}),
    ],
)
def test_each_share_is_over_its_own_relations(name: str, golds: set[str]) -> None:
    every: list[Gold] = ["same", "refines", "conflict", "distinct", "unrelated"]
    assert {gold for gold in every if harms([case(gold, STORED)])[name].value is not None} == golds


def test_relations_are_scored_by_precision_recall_and_f1() -> None:
    cases = [
        case("same", DROPPED),
        case("same", STORED),
        case("refines", DROPPED),
        case("conflict", REPLACED),
        case("distinct", STORED),
        case("unrelated", STORED),
    ]
    metrics = measure(cases)["metrics"]
    assert metrics["same"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5}
    assert metrics["conflict"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    # Never predicted, though there was one: zero, not "unknown".
    assert metrics["refines"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert metrics["distinct"]["precision"] == pytest.approx(2 / 3, abs=1e-6)
    assert metrics["distinct_strict"]["precision"] == 0.5  # without the unrelated pair
    assert metrics["accuracy"] == pytest.approx(4 / 6, abs=1e-6)


@pytest.mark.parametrize("gold", ["same", "refines", "conflict", "distinct"])
@pytest.mark.parametrize("relation", ["variant", "generalises"])
def test_undecided_and_generalises_are_never_right(gold: Gold, relation: str) -> None:
    seen = replace(STORED, relation=relation)  # type: ignore[arg-type]
    report = measure([case(gold, seen)])
    assert report["metrics"]["accuracy"] == 0.0
    assert report["metrics"]["undecided"] == (1.0 if relation == "variant" else 0.0)
    assert "relation" in pair_metrics.wrong(case(gold, seen))


def test_groups_say_how_far_other_languages_lie_below_english() -> None:
    cases = [
        case("distinct", STORED, lang="en", subtype="sibling"),
        case("distinct", DROPPED, lang="de", subtype="sibling"),
        case("same", DROPPED, lang="en+de", subtype="verbatim"),
    ]
    metrics = measure(cases)["metrics"]
    assert {name: row["count"] for name, row in metrics["by_lang"].items()} == {
        "english": 1,
        "other": 2,
        "de": 1,
        "en": 1,
        "en+de": 1,
    }
    assert metrics["other_languages_below_english"] == 0.5
    assert metrics["by_subtype"]["sibling"]["false_merges"] == 0.5
    assert metrics["by_subtype"]["verbatim"]["false_merges"] is None


def test_a_report_over_no_pair_of_a_relation_says_nothing_of_it() -> None:
    report = measure([case("same", DROPPED)])
    assert report["metrics"]["updates_lost"] is None
    assert report["intervals"]["updates_lost"] is None
    assert report["metrics"]["conflict"]["recall"] is None


# --------------------------------------------------------------------------------------------
# How sure the judge is


def sure(gold: Gold, probability: float | None) -> Case:
    return case(gold, replace(DROPPED, same=probability, model="v1"))


def test_recall_of_same_is_taken_where_its_precision_still_holds() -> None:
    cases = [sure("same", 0.99), sure("same", 0.9), sure("distinct", 0.8), sure("same", 0.7), sure("same", None)]
    # Two of two are right above .8; below it one of three is wrong.
    assert measure(cases)["metrics"]["same_recall_at_precision_92"] == 0.5


def test_items_of_one_confidence_are_taken_together_or_not_at_all() -> None:
    cases = [sure("same", 0.9), sure("distinct", 0.9), sure("same", 0.8)]
    assert measure(cases)["metrics"]["same_recall_at_precision_92"] == 0.0


def test_rules_do_not_say_how_sure_they_are() -> None:
    report = measure([case("same", replace(DROPPED, same=1.0))])
    assert report["metrics"]["same_recall_at_precision_92"] is None


def test_recall_at_a_precision_is_unknown_where_the_class_is_missing() -> None:
    assert np.isnan(recall_at([0.9], column([False]), precision=0.9, weights=np.ones((1, 1))))[0]


# --------------------------------------------------------------------------------------------
# Intervals


def test_intervals_lie_around_the_figure_and_are_the_same_every_time() -> None:
    cases = [case("same", DROPPED if number % 4 else STORED) for number in range(200)]
    first, second = measure(cases), measure(cases)
    assert first["intervals"] == second["intervals"]  # I4
    low, high = first["intervals"]["duplicates_missed"]
    assert low < first["metrics"]["duplicates_missed"] < high
    assert 0.15 < low
    assert high < 0.35


def test_a_class_that_chance_left_out_of_a_resample_is_not_counted_as_missed() -> None:
    intervals = measure([case("same", DROPPED), case("conflict", REPLACED)])["intervals"]
    assert intervals["same"] == {"precision": [1.0, 1.0], "recall": [1.0, 1.0], "f1": [1.0, 1.0]}


def test_an_interval_narrows_with_more_items() -> None:
    def width(items: int) -> float:
        ratio = Ratio(column(number % 2 for number in range(items)), column([True] * items))
        found = interval(ratio.resampled(weights(items)))
        assert found is not None
        return found[1] - found[0]

    assert width(1000) < width(100) / 2


# --------------------------------------------------------------------------------------------
# Public sets


def public(label: str, gold: Gold, seen: Seen, count: int) -> list[Case]:
    return [case(gold, seen, label=label)] * count


def test_public_files_are_averaged_and_never_pooled() -> None:
    small = public("contradiction", "conflict", DROPPED, 1)
    large = public("contradiction", "conflict", STORED, 99) + public("related", "related", DROPPED, 1)
    report = public_metrics.measure([("small", small), ("large", large)])
    assert report["metrics"]["swallowed_contradictions"] == 0.5
    assert report["metrics"]["related_merged"] == 1.0  # the mean of the files that have any
    assert [row["labels"] for row in report["files"]] == [{"contradiction": 1}, {"contradiction": 99, "related": 1}]


@pytest.mark.parametrize(
    ("gold", "seen", "names"),
    [
        ("conflict", DROPPED, {"swallowed_contradictions"}),
        ("conflict", REPLACED, {"contradictions_judged"}),
        ("related", DROPPED, {"related_merged"}),
        ("unrelated", EVOLVED, {"related_merged"}),  # one row, though the text is kept in it
        ("same", DROPPED, {"duplicates_found", "duplicates_judged_same"}),
        ("neutral", DROPPED, {"others_merged"}),
        ("entailment", REPLACED, {"others_merged", "wrong_supersessions"}),
    ],
)
def test_what_was_done_to_a_public_pair_counts_in_the_right_figures(gold: Gold, seen: Seen, names: set[str]) -> None:
    assert {name for name, ratio in public_metrics.figures([case(gold, seen)]).items() if ratio.value == 1.0} == names
