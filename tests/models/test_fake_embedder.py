"""The test embedder keeps its promise: the cosine that was declared, to the fourth decimal."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from uuid import UUID

import numpy as np
import pytest

from wellkept.core.judging.calibration import IDENTITY, rounded
from wellkept.core.records.vectors import cosine, quantise, restore
from wellkept.errors import ModelUnavailable
from wellkept.testing.clock import CountingIds, FrozenClock
from wellkept.testing.embedder import FakeEmbedder

# The boundaries of B-1 and their neighbours.
BOUNDARIES = (0.95, 0.9499, 0.98, 0.9, 0.8999, 0.88, 0.8801, 0.85, 0.8, 0.65, 0.6499, 0.0, -0.4, 1.0)


def measured(fake: FakeEmbedder, a: str, b: str) -> float:
    left, right = fake.embed([a, b])
    return rounded(cosine(left.vector, right.vector))


@pytest.mark.parametrize("value", BOUNDARIES)
@pytest.mark.parametrize("topic", range(25))
def test_a_boundary_survives_storage_exactly(value, topic):
    """B-1: float16 in the store must not decide."""
    old, new = f"old text {topic}", f"new text {topic}"
    a, b = (answer.vector for answer in FakeEmbedder({(old, new): value}).embed([old, new]))
    stored_a, stored_b = restore(quantise(a)), restore(quantise(b))
    for left, right in ((a, b), (a, stored_b), (stored_a, b), (stored_a, stored_b)):
        assert IDENTITY.similarity(cosine(left, right)) == value


def test_one_text_can_be_near_several_and_all_other_pairs_have_0():
    fake = FakeEmbedder({("a", "b"): 0.95, ("a", "c"): 0.2, frozenset({"b", "d"}): -0.1})
    texts = ["a", "b", "c", "d", "unknown", "another"]
    found = [answer.vector for answer in fake.embed(texts)]
    expected = {("a", "b"): 0.95, ("a", "c"): 0.2, ("b", "d"): -0.1}
    for i, left in enumerate(texts):
        for j in range(i + 1, len(texts)):
            assert rounded(cosine(found[i], found[j])) == expected.get((left, texts[j]), 0.0)


@pytest.mark.parametrize(
    "cosines",
    [
        {("a", "b"): 0.99, ("b", "c"): 0.99},  # and a, c at 0
        {("a", "b"): 0.99, ("b", "c"): 0.99, ("a", "c"): 0.5},
        {("a", "b"): 1.0, ("b", "c"): 0.5},
    ],
)
def test_cosines_that_no_vectors_have_are_refused_where_they_are_stated(cosines):
    with pytest.raises(ValueError, match=r"no vectors have these cosines: 'c' cannot be at .*'b'"):
        FakeEmbedder(cosines)


@pytest.mark.parametrize(
    ("cosines", "said"),
    [
        ({("a", "a"): 0.5}, "two different texts"),
        ({frozenset({"a"}): 0.5}, "two different texts"),
        ({("a", "b"): 1.01}, "is not a cosine"),
        ({("a", "b"): 0.5, ("b", "a"): 0.6}, "two different cosines"),
    ],
)
def test_a_declaration_that_means_nothing_is_refused(cosines, said):
    with pytest.raises(ValueError, match=said):
        FakeEmbedder(cosines)


def test_cosines_may_be_added_while_one_of_the_texts_is_new():
    fake = FakeEmbedder({("a", "b"): 0.95})
    fake.embed(["a", "stray"])
    fake.relate("c", "a", 0.9)
    fake.relate("c", "b", 0.88)
    fake.relate("stray", "d", 0.65)
    assert measured(fake, "a", "c") == 0.9
    assert measured(fake, "b", "c") == 0.88
    assert measured(fake, "a", "b") == 0.95
    assert measured(fake, "stray", "d") == 0.65
    with pytest.raises(ValueError, match="have been embedded"):
        fake.relate("a", "stray", 0.5)


def test_a_text_keeps_its_vector():
    fake = FakeEmbedder()
    first = fake.embed(["tea"])[0].vector
    fake.embed([f"text {n}" for n in range(20)])
    assert np.array_equal(fake.embed(["tea"])[0].vector, first)


def test_another_process_gives_declared_texts_the_same_vectors_in_any_order():
    """I3: writers in two processes compare with each other's rows."""
    program = (
        "import sys; from wellkept.core.records.vectors import quantise; "
        "from wellkept.testing.embedder import FakeEmbedder;"
        "f = FakeEmbedder({frozenset({'a', 'b'}): .95, ('c', 'd'): .9}); f.embed(['other', 'd']);"
        "sys.stdout.write(quantise(f.embed(['b'])[0].vector).hex())"
    )
    env = {"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)}
    there = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stdout
    here = FakeEmbedder({frozenset({"a", "b"}): 0.95, ("c", "d"): 0.9}).embed(["a", "b"])[1].vector
    assert quantise(here).hex() == there


def test_more_texts_than_dimensions_are_nearly_at_right_angles():
    fake = FakeEmbedder({("a", "b"): 0.95})
    matrix = np.array([answer.vector for answer in fake.embed([f"text {n}" for n in range(900)])])
    apart = np.abs(matrix @ matrix.T - np.eye(900))
    assert float(apart[:500, :500].max()) < 1e-5
    assert float(apart.max()) < 0.3
    assert measured(fake, "a", "b") == 0.95


def test_an_outage_begins_and_ends_when_the_test_says_so():
    """I7."""
    fake = FakeEmbedder()
    fake.fail_with = ModelUnavailable("down")
    with pytest.raises(ModelUnavailable, match="down"):
        fake.embed(["tea"])
    fake.fail_with = None
    assert fake.embed(["tea"])[0].vector is not None
    assert (fake.calls, fake.texts_seen) == (2, ["tea", "tea"])


def test_unreadable_and_long_texts_can_be_named():
    """B-33, B-34."""
    fake = FakeEmbedder(unreadable=["ใช้งาน"], chunks={"long": 3})
    fake.unreadable.add("later")
    found = fake.embed(["ใช้งาน", "long", "short", "later"])
    assert [(answer.vector is None, answer.chunks) for answer in found] == [
        (True, 1),
        (False, 3),
        (False, 1),
        (True, 1),
    ]


def test_a_frozen_clock_moves_only_when_told():
    clock = FrozenClock(datetime(2026, 3, 1, 13, 0, tzinfo=timezone(timedelta(hours=1))))
    assert clock() == clock() == datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    assert clock().tzinfo is UTC
    assert clock.advance(days=1, minutes=30) == clock() == datetime(2026, 3, 2, 12, 30, tzinfo=UTC)
    with pytest.raises(ValueError, match="aware"):
        FrozenClock(datetime(2026, 3, 1))  # noqa: DTZ001 — the naive time is the point


def test_counted_ids_are_rising_version_7_uuids_and_repeat_with_a_new_counter():
    ids = CountingIds()
    made = [ids() for _ in range(1100)]
    assert all(first < second for first, second in pairwise(made))
    assert {(UUID(one).version, UUID(one).variant) for one in made} == {(7, "specified in RFC 4122")}
    again = CountingIds()
    assert [again() for _ in range(1100)] == made
