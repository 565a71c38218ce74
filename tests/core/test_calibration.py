"""One published similarity scale for every embedder (B-1, B-30)."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellkept.core.judging.calibration import (
    HASHING,
    IDENTITY,
    LEAST_PAIRS,
    MINILM,
    THRESHOLDS,
    UNCALIBRATED,
    Calibration,
    all_rounded,
    cross_validated,
    error_of,
    fit,
    rank_correlation,
    rounded,
)

TABLES = (MINILM, HASHING, IDENTITY, UNCALIBRATED)
# Grades as a hand gives them: steps of .01, many at .95 and at 0.
GRADES = [round(place / 100, 2) for place in range(101) for _ in range(4)] + [0.95] * 60 + [0.0] * 30


@pytest.mark.parametrize(
    ("cosine", "similarity"),
    [(0.95, 0.95), (0.9499, 0.9499), (0.94996, 0.95), (0.0, 0.0), (-0.3, -0.3), (1.0, 1.0), (1.0000001, 1.0), (-7, -1)],
)
def test_the_identity_returns_the_cosine_rounded_and_clamped(cosine, similarity):
    """B-30: injected test vectors meet thresholds as they are."""
    assert IDENTITY.similarity(cosine) == similarity
    assert IDENTITY.similarities([None, cosine]) == [None, similarity]
    assert all_rounded([cosine]) == [rounded(cosine)]


@pytest.mark.parametrize(
    ("table", "similarity", "raw"),
    [
        (MINILM, 0.98, 0.971),
        (MINILM, 0.95, 0.872),
        (MINILM, 0.90, 0.825),
        (MINILM, 0.88, 0.801),
        (MINILM, 0.85, 0.761),
        (MINILM, 0.80, 0.723),
        (MINILM, 0.65, 0.588),
        (MINILM, 0.60, 0.546),
        (HASHING, 0.95, 0.712),
        (HASHING, 0.88, 0.549),
        (HASHING, 0.65, 0.281),
    ],
)
def test_a_threshold_stands_for_the_raw_cosine_its_embedder_gives_such_pairs(table, similarity, raw):
    assert table.cosine(similarity) == pytest.approx(raw, abs=0.001)
    assert table.similarity(raw) == pytest.approx(similarity, abs=0.002)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_runs_from_end_to_end(table):
    assert (table.similarity(1.0), table.similarity(-1.0)) == (1.0, -1.0)
    assert (table.cosine(1.0), table.cosine(-1.0)) == (1.0, -1.0)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@given(a=st.floats(-1, 1), b=st.floats(-1, 1))
def test_a_higher_cosine_never_has_a_lower_similarity(table, a, b):
    low, high = sorted((a, b))
    assert table.similarity(low) <= table.similarity(high)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_the_way_back_reaches_the_threshold_again(table, threshold):
    assert table.similarity(table.cosine(threshold)) == pytest.approx(threshold, abs=0.00015)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_similarity_shown_is_made_from_the_cosine_shown(table):
    """Design §10: two backends whose cosines differ in the sixth decimal show the same."""
    for cosine in (0.70001, 0.94399, 0.89601):
        assert table.similarity(cosine) == table.similarity(round(cosine, 4))


def test_many_cosines_have_the_similarities_that_each_has_alone():
    cosines = [0.91, 0.2, 0.91, -0.0, 0.0, 0.91000001, 1.7, 0.2]
    assert MINILM.similarities([*cosines, None]) == [*map(MINILM.similarity, cosines), None]


@pytest.mark.parametrize(
    "knots",
    [
        (),
        ((1.0, 1.0),),
        ((-1.0, -1.0), (0.9, 1.0)),
        ((0.0, 0.0), (1.0, 1.0)),
        ((-1.0, -1.0), (0.5, 0.2), (0.5, 0.3), (1.0, 1.0)),
        ((-1.0, -1.0), (0.5, 0.2), (0.6, 0.2), (1.0, 1.0)),
        ((-1.0, -1.0), (0.7, 0.2), (0.6, 0.3), (1.0, 1.0)),
        ((-1.0, -1.0), (math.nan, 0.2), (1.0, 1.0)),
    ],
)
def test_a_table_that_does_not_rise_from_end_to_end_is_refused(knots):
    with pytest.raises(ValueError, match="calibration 'bad'"):
        Calibration("bad", knots)


def test_nan_is_refused_and_never_becomes_a_similarity():
    with pytest.raises(ValueError, match="NaN"):
        MINILM.similarity(math.nan)


# --------------------------------------------------------------------------------------------
# Fitting

Spread = Callable[[float], float]
SPREADS: dict[str, Spread] = {
    "as it is": lambda grade: grade,
    "crowded at the top": lambda grade: 0.7 + 0.3 * grade,
    "stretched": lambda grade: 2 * grade - 1,
    "bent": lambda grade: grade**3,
}


@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_as_many_pairs_reach_a_threshold_in_similarity_as_in_grade(spread, threshold):
    """B-1, B-30: a threshold means the same however an embedder spreads its cosines."""
    cosines = [spread(grade) for grade in GRADES]
    table = fit("t", cosines, GRADES)
    reached = sum(table.similarity(raw) >= threshold for raw in cosines)
    wanted = sum(grade >= threshold for grade in GRADES)
    assert abs(reached - wanted) <= 12


@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
def test_a_fit_finds_the_spread_of_an_embedder_again(spread):
    table = fit("t", [spread(grade) for grade in GRADES], GRADES)
    for grade in (0.3, 0.5, 0.65, 0.8, 0.88, 0.9):
        assert table.similarity(spread(grade)) == pytest.approx(grade, abs=0.03)
    assert table.name == "t"


def test_a_grade_that_many_pairs_share_begins_where_its_lowest_pair_lies():
    """.95 is the lower bound of "duplicate" (S0), so a crowd at .95 must not be halved by it."""
    cosines = [place / len(GRADES) for place in range(len(GRADES))]
    table = fit("t", cosines, GRADES)
    below = sum(grade < 0.95 for grade in GRADES)
    assert table.cosine(0.95) == pytest.approx(cosines[below], abs=0.003)


@settings(max_examples=40)  # each fits a whole table
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=LEAST_PAIRS, max_size=LEAST_PAIRS + 60))
def test_whatever_the_pairs_the_fitted_table_rises_or_is_refused(rows):
    cosines, grades = [raw for raw, _ in rows], [grade for _, grade in rows]
    try:
        table = fit("t", cosines, grades)
    except ValueError as refused:
        assert "all alike" in str(refused)
    else:
        assert 4 <= len(table.knots) <= len(rows) // 6 + 3


def test_the_order_of_the_pairs_does_not_matter_to_a_fit():
    cosines = [0.5 + grade / 2 for grade in GRADES]
    assert fit("t", cosines, GRADES) == fit("t", cosines[::-1], GRADES[::-1])


@pytest.mark.parametrize(
    ("cosines", "grades", "why"),
    [
        ([0.5] * 99, [0.5] * 99, "100 pairs"),
        ([0.5] * 200, [0.5] * 199, "each with"),
        ([0.7] * 200, [place / 200 for place in range(200)], "all alike"),
        ([place / 200 for place in range(200)], [0.4] * 200, "all alike"),
        ([math.nan] * 200, [0.5] * 200, "between"),
        ([1.5] * 200, [0.5] * 200, "between"),
        ([0.5] * 200, [5.0] * 200, "between"),
        ([0.5] * 200, [math.nan] * 200, "between"),
    ],
)
def test_pairs_that_say_nothing_are_refused(cosines, grades, why):
    with pytest.raises(ValueError, match=why):
        fit("t", cosines, grades)


def test_the_error_is_measured_on_pairs_the_table_has_not_seen():
    """A perfect order has hardly any error; a shuffled one keeps the shares and loses the grades."""
    cosines = [grade**3 for grade in GRADES]
    perfect = cross_validated(cosines, GRADES)
    shuffled = cross_validated(cosines, GRADES[::-1])
    assert perfect.grade < 0.01 and perfect.share < 0.02
    assert shuffled.grade > 0.3 and shuffled.share < 0.05
    assert error_of([0.9, 0.5], [0.7, 0.4]).grade == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [([1, 2, 3], [10, 20, 90], 1.0), ([1, 2, 3], [3, 2, 1], -1.0), ([1, 1, 1], [1, 2, 3], 0.0), ([1], [1], 0.0)],
)
def test_the_rank_correlation_compares_orders_only(a, b, found):
    assert rank_correlation(a, b) == pytest.approx(found)
