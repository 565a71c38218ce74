"""Which candidates of a list a second network reads."""

from __future__ import annotations

import pytest

from wellkept.core.judging.second_reader import CLEARLY_DISTINCT, DOUBTFUL_CONFLICT, DOUBTFUL_REPETITION, doubtful
from wellkept.types import Opinion

SURE_OTHER = Opinion(0.01, 0.01, 0.0, 0.03, 0.95)
HARDLY = Opinion(0.04, 0.02, 0.02, 0.07, 0.85)
PERHAPS_SAME = Opinion(0.5, 0.1, 0.1, 0.05, 0.25)
PERHAPS_AGAINST = Opinion(0.02, 0.01, 0.01, 0.4, 0.56)
SURE_SAME = Opinion(0.95, 0.01, 0.02, 0.01, 0.01)
SURE_AGAINST = Opinion(0.01, 0.0, 0.0, 0.97, 0.02)
LOW, HIGH = DOUBTFUL_REPETITION
LEAST, MOST = DOUBTFUL_CONFLICT


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ({}, []),
        ({"a": None}, []),
        ({"a": SURE_OTHER}, []),
        ({"a": HARDLY, "b": SURE_OTHER}, []),
        ({"a": PERHAPS_SAME}, ["a"]),
        ({"a": PERHAPS_SAME, "b": SURE_OTHER, "c": None}, ["a"]),
        ({"a": HARDLY, "b": PERHAPS_SAME, "c": SURE_AGAINST}, ["a", "b", "c"]),
        ({"a": PERHAPS_AGAINST, "b": HARDLY, "c": SURE_OTHER}, ["a", "b"]),
        # The most probable repetition decides, not a doubtful one behind it; so does the most probable contradiction.
        ({"a": SURE_SAME, "b": PERHAPS_SAME}, []),
        ({"a": SURE_AGAINST, "b": PERHAPS_AGAINST}, []),
        ({"a": SURE_SAME, "b": PERHAPS_AGAINST}, ["a", "b"]),
        ({"a": Opinion(LOW, 0.0, 0.0, 0.0, 1 - LOW)}, []),
        ({"a": Opinion(LOW + 0.0001, 0.0, 0.0, 0.0, 0.8999)}, ["a"]),
        ({"a": Opinion(0.0, 0.0, HIGH, 0.0, 1 - HIGH)}, []),
        ({"a": Opinion(0.0, 0.0, HIGH - 0.0001, 0.0, 0.0501)}, ["a"]),
        ({"a": Opinion(LOW + 0.0001, 0.0, 0.0, 0.0, CLEARLY_DISTINCT)}, []),
        ({"a": Opinion(0.0, 0.0, 0.0, LEAST, 1 - LEAST)}, []),
        ({"a": Opinion(0.0, 0.0, 0.0, LEAST + 0.0001, 0.7999)}, ["a"]),
        ({"a": Opinion(0.0, 0.0, 0.0, MOST, 1 - MOST)}, []),
        ({"a": Opinion(0.0, 0.0, 0.0, MOST - 0.0001, 0.1001)}, ["a"]),
    ],
)
def test_what_is_not_clearly_distinct_is_read_again_if_the_list_leaves_a_doubt(
    told: dict[str, Opinion | None], read: list[str]
) -> None:
    assert doubtful(told) == read
