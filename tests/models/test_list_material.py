"""Lists for training: their size, their labels, and that they are the same from the same seed."""

from __future__ import annotations

import random

import numpy as np
from training.compose import Composer
from training.lists.material import Listing, Lists, composed, of_authors
from training.material import cases, frames
from training.stories import TRAINING, labels_of, stories


def _drawn(count: int) -> list[Listing]:
    found = stories("own")[::50]
    lines = sum(len(story.lines) for story in found)
    vectors = np.random.default_rng(1).normal(size=(lines + 40, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    crowd = [f"A stranger's line, number {number}." for number in range(40)]
    lists = Lists(found, vectors[:lines], crowd, vectors[lines:], cases("train"))
    composer = Composer(frames("train"), cases("train"), seed=3)
    chance = random.Random(3)
    return [lists.draw(chance, composer) for _ in range(count)]


def test_a_list_holds_one_to_eight_different_candidates_each_with_its_labels() -> None:
    for listing in _drawn(300):
        assert 1 <= len(listing.texts) <= 8
        assert len(set(listing.texts)) == len(listing.texts) == len(listing.labels)


def test_the_same_seed_draws_the_same_lists() -> None:
    assert _drawn(40) == _drawn(40)


def test_lines_of_a_story_have_the_labels_that_follow_from_its_truths() -> None:
    lines = {line.text: (story.id, line) for story in stories("own")[::50] for line in story.lines}
    checked = 0
    for listing in _drawn(300):
        for text, labels in zip(listing.texts, listing.labels, strict=True):
            if listing.new in lines and text in lines and lines[text][0] == lines[listing.new][0]:
                assert labels == labels_of(lines[text][1], lines[listing.new][1])
                checked += 1
    assert checked > 100


def test_a_text_of_no_story_is_distinct_from_a_line() -> None:
    told = [
        labels
        for listing in _drawn(300)
        for text, labels in zip(listing.texts, listing.labels, strict=True)
        if text.startswith("A stranger's line")
    ]
    assert told
    assert set(told) == {("distinct",)}


def test_composed_lists_are_of_one_pair_of_one_case_or_of_many_materials() -> None:
    chance, material = random.Random(5), cases("train")
    composer = Composer(frames("train"), material, seed=5)
    sizes = {len(composed(chance, composer, material).texts) for _ in range(200)}
    assert sizes >= {1, 2, 5, 8}


def test_more_authors_include_those_of_fewer() -> None:
    found = stories(*TRAINING)
    few, more = ({story.author for story in of_authors(found, count, 1)} for count in (3, 7))
    assert few < more
    assert (len(few), len(more)) == (3, 7)
