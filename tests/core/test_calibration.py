"""One published similarity scale for every embedder (B-1, B-30)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.calibration import HASHING, IDENTITY, MINILM, UNCALIBRATED, Calibration

TABLES = (MINILM, HASHING, IDENTITY, UNCALIBRATED)
# The thresholds of the five sources.
THRESHOLDS = (0.98, 0.95, 0.90, 0.88, 0.85, 0.80, 0.65)


@pytest.mark.parametrize(
    ("cosine", "similarity"),
    [(0.95, 0.95), (0.9499, 0.9499), (0.94996, 0.95), (0.0, 0.0), (-0.3, -0.3), (1.0, 1.0), (1.0000001, 1.0), (-7, -1)],
)
def test_the_identity_returns_the_cosine_rounded_and_clamped(cosine, similarity):
    """B-30: injected test vectors meet thresholds as they are."""
    assert IDENTITY.similarity(cosine) == similarity


@pytest.mark.parametrize(
    ("table", "similarity", "raw"),
    [
        (MINILM, 0.98, 0.977),
        (MINILM, 0.95, 0.944),
        (MINILM, 0.90, 0.909),
        (MINILM, 0.88, 0.896),
        (MINILM, 0.85, 0.874),
        (MINILM, 0.80, 0.837),
        (MINILM, 0.65, 0.699),
        (HASHING, 0.95, 0.940),
        (HASHING, 0.88, 0.883),
        (HASHING, 0.65, 0.595),
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
