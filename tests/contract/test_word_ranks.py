"""Rows in the order of shared words: the same order as summing and sorting everything."""

import random
from collections import defaultdict

import pytest

from wellkept.storage.sql.word_ranks import WordRanks


def sorted_in_full(given):
    scores = defaultdict(float)
    for places, weight in given:
        for place in places:
            scores[place] += weight
    return sorted(scores, key=lambda place: (-scores[place], -place))


@pytest.mark.parametrize(
    ("given", "most", "ranked"),
    [
        ([], 3, []),
        ([([4], 1.0)], 3, [4]),
        ([([1, 2], 1.0)], 2, [2, 1]),  # equal sums: the later place first
        ([([1, 2, 3], 1.0), ([1], 0.5)], 2, [1, 3]),
        ([([1, 10**15], 1.0), ([1], 1.0)], 5, [1, 10**15]),  # places far apart
    ],
)
def test_the_highest_sums_come_first(given, most, ranked):
    ranks = WordRanks()
    for places, weight in given:
        ranks.add(places, weight)
    assert ranks.best(most) == ranked
    assert len(ranks) == len({place for places, _ in given for place in places})


@pytest.mark.parametrize("width", [200, 10**12])
def test_the_order_is_that_of_sorting_all_rows(width):
    rng = random.Random(width)
    for _ in range(100):
        given = [(rng.sample(range(width), rng.randrange(1, 60)), rng.choice((0.1, 0.3, 2.0))) for _ in range(6)]
        ranks = WordRanks()
        for places, weight in given:
            ranks.add(places, weight)
        whole = sorted_in_full(given)
        for most in (1, 7, len(whole), len(whole) + 1):
            assert ranks.best(most) == whole[:most]
