"""Lists for training: their size, their labels, and that they are the same from the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wellkept.models.tokenizer.lists import ListRow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made() -> Iterator[Any]:
    """Lists drawn from some stories, and what they were drawn with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        material, disguise, stories, parts, compose = (
            import_module(f"training.{name}")
            for name in ("lists.material", "lists.disguise", "stories", "material", "compose")
        )
        found = stories.stories("own")[::50]
        lines = sum(len(story.lines) for story in found)
        vectors = np.random.default_rng(1).normal(size=(lines + 40, 384)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        crowd = [f"A stranger's line, number {number}." for number in range(40)]
        cases, frames = parts.cases("train"), parts.frames("train")
        lists = material.Lists(found, vectors[:lines], crowd, vectors[lines:], cases)

        def drawn(seed: int) -> list[Any]:
            chance, composer = random.Random(seed), compose.Composer(frames, cases, seed=seed)
            return [lists.draw(chance, composer) for _ in range(300)]

        def composed(seed: int) -> list[Any]:
            chance, composer = random.Random(seed), compose.Composer(frames, cases, seed=seed)
            return [material.composed(chance, composer, cases) for _ in range(200)]

        yield SimpleNamespace(
            drawn=drawn,
            composed=composed,
            found=found,
            stories=stories,
            of_authors=material.of_authors,
            listing=material.Listing,
            disguise=disguise,
        )


def test_a_list_holds_one_to_eight_different_candidates_each_with_its_labels(made: Any) -> None:
    for listing in made.drawn(3):
        assert 1 <= len(listing.texts) <= 8
        assert len(set(listing.texts)) == len(listing.texts) == len(listing.labels)


def test_the_same_seed_draws_the_same_lists(made: Any) -> None:
    assert made.drawn(4) == made.drawn(4)
    assert made.drawn(4) != made.drawn(5)


def test_lines_of_a_story_have_the_labels_that_follow_from_its_truths(made: Any) -> None:
    lines = {line.text: (story.id, line) for story in made.found for line in story.lines}
    checked = 0
    for listing in made.drawn(3):
        for text, labels in zip(listing.texts, listing.labels, strict=True):
            if listing.new in lines and text in lines and lines[text][0] == lines[listing.new][0]:
                assert labels == made.stories.labels_of(lines[text][1], lines[listing.new][1])
                checked += 1
    assert checked > 100


def test_a_text_of_no_story_is_distinct_from_a_line(made: Any) -> None:
    told = [
        labels
        for listing in made.drawn(3)
        for text, labels in zip(listing.texts, listing.labels, strict=True)
        if text.startswith("A stranger's line")
    ]
    assert told
    assert set(told) == {("distinct",)}


def test_composed_lists_are_of_one_pair_of_one_case_or_of_many_materials(made: Any) -> None:
    assert {len(listing.texts) for listing in made.composed(5)} >= {1, 2, 5, 8}


def test_more_authors_include_those_of_fewer(made: Any) -> None:
    found = made.stories.stories(*made.stories.TRAINING)
    few, more = ({story.author for story in made.of_authors(found, count, 1)} for count in (3, 7))
    assert few < more
    assert (len(few), len(more)) == (3, 7)


def test_a_name_is_exchanged_for_the_same_other_name_in_all_texts_of_a_list(made: Any) -> None:
    texts = ("Brannock runs the yard on Monday.", "at the yard, ask for Brannock's key", "Monday is for the yard")
    found = [_told(made, texts), *(_told(made, (f"{name} rests on Monday",)) for name in ("Odalys", "Iolo", "Kess"))]
    names, listing = made.disguise.Names(found), made.listing(texts[0], texts[1:], (("refines",), ("distinct",)))
    for seed in range(20):
        told = names.exchanged(listing, random.Random(seed))
        name = told.new.split()[0]
        assert name in {"Brannock", "Odalys", "Iolo", "Kess"}
        assert told.new == f"{name} runs the yard on Monday."
        assert told.texts == (f"at the yard, ask for {name}'s key", "Monday is for the yard")
        assert told.labels == listing.labels
    assert len({names.exchanged(listing, random.Random(seed)).new for seed in range(20)}) > 1


def _told(made: Any, texts: tuple[str, ...]) -> Any:
    lines = tuple(made.stories.Line(text, "note", "2026-01-01", "first", "K1", "v") for text in texts)
    return made.stories.Story(texts[0], "Z", "en", lines)


def test_hidden_pieces_are_words_and_nothing_else_of_the_row_changes(made: Any) -> None:
    row = ListRow((101, *range(2000, 2400), 102), (0,) * 402, (1.0,) * 402, tuple(range(402)), (0,) * 402)
    hidden = made.disguise.hidden(row, random.Random(1))
    changed = [(old, new) for old, new in zip(row.pieces, hidden.pieces, strict=True) if old != new]
    assert 20 < len(changed) < 60
    assert all(old >= 2000 and new == made.disguise.MASK for old, new in changed)
    assert replace(hidden, pieces=row.pieces) == row
