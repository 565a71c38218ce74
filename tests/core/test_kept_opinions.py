"""Opinions come back from the journal to the last digit, or not at all (I4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellkept.core.judging.kept_opinions import digest_of, opinions_in, reading_of
from wellkept.core.judging.list_head import ReadTwice
from wellkept.types import Opinion, Reading

NAMES = ("same", "refines", "generalises", "conflict", "distinct")
SURE = Opinion(0.0001, 0.0, 0.0002, 0.0031, 0.9966, "m")


def said(*numbers: int) -> Opinion:
    return Opinion(*(number / 10_000 for number in numbers), "m")


shares = st.tuples(*[st.integers(0, 10_000)] * 5)
alone = st.builds(lambda numbers: said(*numbers), shares)
twice = st.builds(
    lambda mean, one, other, third: ReadTwice(
        **{name: getattr(mean, name) for name in NAMES}, model="m", first=one, second=other, third=third
    ),
    alone,
    alone,
    alone,
    st.one_of(st.none(), alone),
)


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), alone, twice), min_size=1, max_size=8))
def test_opinions_come_back_as_they_were(told: list[Opinion | None]) -> None:
    texts = [f"text {place}" for place in range(len(told))]
    kept = reading_of("m", "new", {f"id{text}": text for text in texts}, dict(zip(texts, told, strict=True)))
    assert kept is not None
    assert kept.texts == digest_of("new", texts)
    back = opinions_in(kept, len(told))
    assert back == tuple(told)
    assert [type(one) for one in back or ()] == [type(one) for one in told]


def test_memories_of_one_text_share_an_opinion_and_a_sure_one_takes_a_few_bytes() -> None:
    kept = reading_of("m", "new", {"b": "two", "a": "one", "c": "two"}, {"one": None, "two": SURE})
    assert kept is not None
    assert kept.memory_ids == ("b", "a", "c")
    assert opinions_in(kept, 2) == (None, SURE)
    assert len(kept.opinions) == 10


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(Opinion(1 / 3, 0, 0, 0, 2 / 3, "m"), id="more digits"),
        pytest.param(Opinion(1.0, 0, 0, 0, 0, "another"), id="another model"),
    ],
)
def test_what_could_not_come_back_exactly_is_not_kept(told: Opinion) -> None:
    assert reading_of("m", "new", {"a": "one"}, {"one": told}) is None


def test_a_reading_of_nothing_is_not_kept() -> None:
    assert reading_of("m", "new", {}, {}) is None


@pytest.mark.parametrize(
    ("opinions", "count"),
    [
        pytest.param("AQECAwQF", 2, id="too few"),
        pytest.param("AQECAwQF", 0, id="too many"),
        pytest.param("", 1, id="none"),
        pytest.param("no base64!", 1, id="no base64"),
        pytest.param("ü", 1, id="not ASCII"),
        pytest.param("AgECAwQF", 1, id="unknown sort"),
        pytest.param("AQECAwT//38", 1, id="no probability"),
        pytest.param("AwECAwQF", 1, id="a reading is missing"),
        pytest.param("BAECAwQFAQIDBAUBAgMEBQ", 1, id="the third reading is missing"),
        pytest.param("AYCAgICAgICA", 1, id="a number without an end"),
    ],
)
def test_a_damaged_reading_answers_nothing(opinions: str, count: int) -> None:
    assert opinions_in(Reading(model="m", memory_ids=("a",), texts="", opinions=opinions), count) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("new", ["a", "b"]), ("new", ["ab"]), id="where a text ends"),
        pytest.param(("a", ["new"]), ("new", ["a"]), id="which is new"),
        pytest.param(("new", ["a"]), ("new", ["a", "b"]), id="one more"),
    ],
)
def test_other_texts_have_another_digest(one: Any, other: Any) -> None:
    assert digest_of(*one) != digest_of(*other)
