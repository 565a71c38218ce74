"""From probabilities to acts: the bound on an error rate, and the threshold that keeps it (design §5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.judging.risk_bounds import NEVER, Bounds, least_threshold, upper_bound

_LOWEST_TRIED = 0.25


@pytest.mark.parametrize(
    ("errors", "trials", "confidence", "bound"),
    [
        (0, 1, 0.95, 0.95),  # without errors the bound is 1 - (1 - confidence) ** (1 / trials)
        (0, 10, 0.95, 0.2589),
        (0, 100, 0.95, 0.0295),
        (0, 300, 0.95, 0.0099),  # the "rule of three": about 3 / trials
        (0, 300, 0.99, 0.0152),
        (1, 2, 0.95, 0.9747),
        (1, 10, 0.95, 0.3942),
        (2, 20, 0.95, 0.2826),
        (5, 100, 0.95, 0.1023),
        (50, 100, 0.95, 0.5864),
        (9, 10, 0.95, 0.9949),
    ],
)
def test_the_bound_is_that_of_clopper_and_pearson(errors: int, trials: int, confidence: float, bound: float) -> None:
    assert upper_bound(errors, trials, confidence) == pytest.approx(bound, abs=6e-5)


@pytest.mark.parametrize(("errors", "trials"), [(0, 0), (1, 1), (40, 40)])
def test_nothing_is_known_without_a_trial_that_went_well(errors: int, trials: int) -> None:
    assert upper_bound(errors, trials, 0.95) == 1.0


def test_thousands_of_pairs_are_no_trouble_for_the_arithmetic() -> None:
    assert upper_bound(40, 20_000, 0.95) == pytest.approx(0.0026, abs=1e-4)
    assert upper_bound(19_999, 20_000, 0.95) == pytest.approx(1.0, abs=1e-4)


@given(st.integers(0, 60), st.integers(1, 80), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_the_bound_lies_above_the_rate_and_grows_with_errors_confidence_and_want_of_trials(
    errors: int, more: int, confidence: float
) -> None:
    trials = errors + more
    bound = upper_bound(errors, trials, confidence)
    assert errors / trials < bound <= 1.0
    assert bound <= upper_bound(errors + 1, trials, confidence) + 1e-12
    assert bound >= upper_bound(errors, trials + 1, confidence) - 1e-12
    assert bound <= upper_bound(errors, trials, min(0.999, confidence + 0.005)) + 1e-12


@pytest.mark.parametrize(
    ("scores", "wrong", "most", "threshold"),
    [
        ([0.10] * 300, [True] * 300, 0.01, _LOWEST_TRIED),  # no error is ever made: down to the lowest tried
        ([0.95] + [0.10] * 99, [True] * 100, 0.03, 0.955),  # one error more and the bound no longer holds
        ([0.95] + [0.10] * 99, [True] * 100, 0.05, _LOWEST_TRIED),
        ([0.99, 0.98] + [0.10] * 98, [True] * 100, 0.05, 0.985),
        ([0.50] * 10 + [0.10] * 990, [True] * 1000, 0.01, 0.505),
        ([0.995] * 10, [True] * 10, 0.30, 1.0),  # acting is safe only on certainty
    ],
)
def test_the_threshold_is_the_lowest_that_keeps_the_bound(
    scores: list[float], wrong: list[bool], most: float, threshold: float
) -> None:
    assert least_threshold(scores, wrong, most=most) == threshold


@pytest.mark.parametrize(
    ("scores", "wrong", "most"),
    [
        ([0.1] * 10, [True] * 10, 0.01),  # too few pairs to promise anything
        ([1.0] * 200, [True] * 200, 0.5),  # the model is certain and wrong
        ([0.9, 0.2], [False, False], 0.5),  # no pair could show an error
        ([], [], 0.99),
    ],
)
def test_where_no_threshold_keeps_the_bound_the_act_never_happens(
    scores: list[float], wrong: list[bool], most: float
) -> None:
    """A probability is at most 1, so 2.0 is never reached."""
    assert least_threshold(scores, wrong, most=most) == 2.0


def test_the_search_stops_at_the_first_threshold_that_fails() -> None:
    """Going on behind a failure would spend the confidence on a second try; errors only add up anyway."""
    scores = [0.80] * 5 + [0.40] * 1 + [0.05] * 194
    assert least_threshold(scores, [True] * 200, most=0.02) == 0.805


def test_pairs_for_which_the_act_is_right_do_not_count() -> None:
    errors = [0.2] * 300
    rights = [0.99] * 50
    alone = least_threshold(errors, [True] * 300, most=0.01)
    assert least_threshold(errors + rights, [True] * 300 + [False] * 50, most=0.01) == alone


def test_more_confidence_never_lowers_the_threshold() -> None:
    scores = [place / 400 for place in range(400)]
    found = [least_threshold(scores, [True] * 400, most=0.05, confidence=sure) for sure in (0.8, 0.9, 0.95, 0.99)]
    assert found == sorted(found)
    assert found[0] < found[-1] < 2.0


@given(
    st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=400),
    st.sampled_from([0.005, 0.01, 0.02, 0.05, 0.2]),
    st.sampled_from([0.9, 0.95]),
)
def test_from_the_threshold_on_the_bound_on_errors_holds(
    pairs: list[tuple[int, bool]], most: float, confidence: float
) -> None:
    scores, wrong = [score / 100 for score, _ in pairs], [error for _, error in pairs]
    threshold = least_threshold(scores, wrong, most=most, confidence=confidence)
    bad = [score for score, error in zip(scores, wrong, strict=True) if error]
    if threshold <= 1.0:
        assert upper_bound(sum(score >= threshold for score in bad), len(bad), confidence) <= most
    else:
        assert upper_bound(sum(score >= 1.0 for score in bad), len(bad), confidence) > most


def test_scores_and_marks_belong_together() -> None:
    with pytest.raises(ValueError, match="zip"):
        least_threshold([0.5], [True, False], most=0.1)


def test_without_bounds_no_probability_is_enough() -> None:
    assert Bounds(2.0, 2.0, 2.0, 2.0, 2.0) == NEVER
