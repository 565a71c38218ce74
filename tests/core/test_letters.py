"""Groups of letters, and what those of two texts tell about a change."""

from __future__ import annotations

import base64

import pytest

from wellkept.core.judging.letters import ChangeCues
from wellkept.core.text.letter_groups import BUCKETS, LetterWeights, letters_of


@pytest.mark.parametrize(
    ("text", "groups"),
    [("", 0), ("a", 3), ("ab", 6), ("a b", 7), ("茶", 3), ("aaaa", 9), ("\ud800", 3)],
)
def test_the_letters_of_a_text_are_its_groups_and_pairs_of_words(text, groups):
    assert len(letters_of(text)) == groups


def weights_of(*texts: str, weight: int = 1) -> LetterWeights:
    """A weight for every group of letters of these texts, 0 for the others."""
    groups = frozenset[int]().union(*map(letters_of, texts))
    return LetterWeights([weight if group in groups else 0 for group in range(BUCKETS)], 0.5)


NONE = weights_of()


def test_the_sum_of_weights_is_relative_to_the_root_of_the_number_of_groups():
    some, none = letters_of("off to lunch"), frozenset[int]()
    assert weights_of("off to lunch", weight=3).sum(some) == pytest.approx(1.5 * len(some) ** 0.5)
    assert weights_of("off to lunch").sum(none) == 0.0


@pytest.mark.parametrize(
    ("part", "new", "old"),
    [
        ("whole", "moved", ""),
        ("added", "moved", ""),
        ("gone", "", "moved"),
        ("common", "moved", "moved"),
    ],
)
def test_each_part_of_a_pair_has_its_own_weights(part, new, old):
    parts = {"whole": NONE, "added": NONE, "gone": NONE, "common": NONE, part: weights_of("moved")}
    cues = ChangeCues(news=NONE, **parts, bias=-0.25)
    assert cues.of_pair(new, old) == pytest.approx(0.5 * len(letters_of("moved")) ** 0.5 - 0.25)
    assert cues.of_pair("zzz", "yyy") == -0.25


def test_a_text_alone_is_read_without_the_constant_of_pairs():
    cues = ChangeCues(weights_of("moved", weight=-2), NONE, NONE, NONE, NONE, 7.0)
    assert cues.of_text("moved") == pytest.approx(-(len(letters_of("moved")) ** 0.5))


def test_weights_come_as_signed_bytes_in_base64():
    raw = bytes([255, 0, 127]) + bytes(BUCKETS - 3)
    part = {"letters": base64.b64encode(raw).decode(), "step": 0.1}
    cues = ChangeCues.of({"bias": 1.0, **dict.fromkeys(("news", "whole", "added", "gone", "common"), part)})
    assert (list(cues.news.weights[:3]), cues.added.step, cues.bias) == ([-1, 0, 127], 0.1, 1.0)
