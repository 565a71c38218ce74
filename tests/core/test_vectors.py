"""The one cosine of the product, and what storing a vector may change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellkept.core.judging.calibration import rounded
from wellkept.core.records.vectors import COMPARISON_DIMS, cosine, cosines, quantise, restore, unit


def vector(*components: float) -> np.ndarray:
    return np.array(components, dtype=np.float32)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (vector(1, 0), vector(1, 0), 1.0),
        (vector(1, 0), vector(0, 1), 0.0),
        (vector(1, 0), vector(-2, 0), -1.0),
        (vector(3, 4), vector(30, 40), 1.0),
        (vector(1, 0), vector(3, 4), 0.6),
        (vector(0, 0), vector(3, 4), 0.0),
        (vector(0, 0), vector(0, 0), 0.0),
    ],
)
def test_cosine_is_the_dot_over_both_lengths_and_0_without_length(a, b, expected):
    """S0-11."""
    assert cosine(a, b) == pytest.approx(expected, abs=1e-12)


def test_only_the_first_512_components_are_compared():
    """S0-9, S0-11: a Matryoshka vector keeps its meaning in the prefix."""
    assert COMPARISON_DIMS == 512
    head = np.ones(512)
    a = np.concatenate([head, np.full(1024, 5.0)])
    b = np.concatenate([head, np.full(1024, -5.0)])
    assert cosine(a, b) == 1.0
    assert cosine(a, b, dims=1536) < -0.9


def test_a_vector_of_more_than_512_components_meets_one_of_exactly_512():
    """S0-11: after truncation both have 512."""
    assert cosine(np.ones(1536), np.ones(512)) == 1.0


def test_a_shorter_vector_is_used_whole():
    assert cosine(vector(1, 2, 2), vector(2, 4, 4)) == 1.0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.ones(384), np.ones(1536)),
        (np.ones(3), np.ones(4)),
        (np.ones((2, 2)), np.ones((2, 2))),
        (np.ones(0), np.ones(0)),
        (vector(1, float("nan")), vector(1, 0)),
        (vector(1, float("inf")), vector(1, 0)),
    ],
)
def test_vectors_that_cannot_be_compared_are_an_error_for_that_candidate(a, b):
    """S0-11, S0-21."""
    with pytest.raises(ValueError, match="component|vector"):
        cosine(a, b)


@pytest.mark.parametrize("dims", [0, -1])
def test_a_comparison_of_no_components_is_refused(dims):
    with pytest.raises(ValueError, match="components"):
        cosine(vector(1, 0), vector(1, 0), dims=dims)


def test_the_cosine_of_a_text_with_itself_is_exactly_1():
    rng = np.random.default_rng(3)
    for _ in range(200):
        v = rng.standard_normal(384).astype(np.float32)
        assert cosine(v, v) == 1.0


def test_one_query_against_a_matrix_gives_the_same_as_one_by_one():
    """I9: it makes no difference how many candidates a backend proposes."""
    rng = np.random.default_rng(5)
    matrix = rng.standard_normal((40, 600)).astype(np.float32)
    matrix[7] = 0
    query = rng.standard_normal(600).astype(np.float32)
    together = cosines(query, matrix)
    assert together[7] == 0.0
    assert [rounded(x) for x in together] == [rounded(cosine(query, row)) for row in matrix]
    assert cosines(query, np.zeros((0, 600))).shape == (0,)


@pytest.mark.parametrize("matrix", [np.ones((2, 3)), np.ones(4), np.array([[1, 2, 3, float("nan")]])])
def test_a_matrix_that_does_not_fit_the_query_is_an_error(matrix):
    with pytest.raises(ValueError, match="component|matrix"):
        cosines(np.ones(4), matrix)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_unit_keeps_the_direction_of_tiny_and_huge_vectors(scale):
    assert unit(np.array([3.0, 4.0]) * scale) == pytest.approx([0.6, 0.8], abs=1e-7)


def test_unit_leaves_a_vector_without_length_alone():
    assert unit(vector(0, 0)).tolist() == [0.0, 0.0]


def test_a_stored_vector_takes_two_little_endian_bytes_a_component():
    assert quantise(vector(1, 0, 0)) == b"\x00\x3c\x00\x00\x00\x00"


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([384, 512, 1536]))
def test_storing_a_restored_vector_again_changes_no_byte(seed, dim):
    """I5: a vector that is copied from store to store does not drift."""
    blob = quantise(unit(np.random.default_rng(seed).standard_normal(dim)))
    assert quantise(restore(blob)) == blob


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=60).filter(any))
def test_a_sparse_vector_that_is_stored_again_changes_no_byte(components):
    """I5: rounding makes all components of such a vector too large, or all too small."""
    kept = restore(quantise(unit(np.array(components, dtype=np.float32))))
    assert restore(quantise(kept)).tobytes() == restore(quantise(unit(kept))).tobytes() == kept.tobytes()


def test_a_restored_vector_has_length_1_and_hardly_moved():
    rng = np.random.default_rng(11)
    for _ in range(50):
        v = unit(rng.standard_normal(384))
        back = restore(memoryview(bytearray(quantise(v))))
        assert float(np.linalg.norm(back)) == pytest.approx(1.0, abs=1e-6)
        assert cosine(v, back) > 0.999999


def test_bytes_at_an_odd_address_are_read_too():
    """S0-21: aligned or not."""
    blob = quantise(vector(0.6, 0.8))
    assert restore(memoryview(b"x" + blob)[1:]) == pytest.approx([0.6, 0.8], abs=1e-3)


@pytest.mark.parametrize("blob", [b"", b"\x00", b"\x00\x3c\x00", b"\x00\x7c", b"\x01\x7e"])
def test_bytes_that_are_no_vector_are_an_error(blob):
    """S0-21: empty, odd, infinite, not a number."""
    with pytest.raises(ValueError, match="vector"):
        restore(blob)


def test_a_vector_of_zeros_is_stored_as_zeros():
    assert quantise(vector(0, 0)) == bytes(4)


def test_a_vector_that_is_not_of_unit_length_is_not_stored():
    with pytest.raises(ValueError, match="unit length"):
        quantise(vector(70_000, 0))


@pytest.mark.parametrize(
    ("raw", "shown"), [(0.94996, 0.95), (0.94994, 0.9499), (0.1 + 0.2, 0.3), (-0.00001, 0.0), (1.0, 1.0)]
)
def test_rounding_keeps_four_decimals_and_has_one_zero(raw, shown):
    assert rounded(raw) == shown
    assert str(rounded(raw)) == str(shown)
