"""Rows of the larger reader, its kept weights and means of opinions. PyTorch is needed for none of them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from wellkept.core.judging.list_head import ReadTwice
from wellkept.types import Opinion

ROOT = Path(__file__).parents[2]
NEW, OLD, OTHER = "We moved to Ghent.", "We live in Bruges.", "The cat\ncame along."


def letters() -> Tokenizer:
    """Each byte is a piece, the number of which is its own."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer = Tokenizer(models.BPE({letter: at for at, letter in enumerate(["\0", *sorted(alphabet)])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def spelled(tokenizer: Tokenizer, pieces: tuple[int, ...]) -> str:
    of_bytes = {" ": "Ġ", "\n": "Ċ"}
    told = "".join(tokenizer.id_to_token(piece) for piece in pieces)
    for letter, shown in of_bytes.items():
        told = told.replace(shown, letter)
    return told


@pytest.fixture
def reader() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield lambda name: import_module(f"training.reader.{name}")


def test_a_row_has_one_line_for_the_new_text_and_for_each_candidate(reader: Any) -> None:
    tokenizer = letters()
    row = reader("rows").Rows(tokenizer).row(NEW, [OLD, OTHER])
    assert spelled(tokenizer, row.pieces) == f"\0Later: {NEW}\nEarlier:\n- {OLD}\n- The cat came along.\n"


def test_a_candidate_is_read_at_the_end_of_its_line(reader: Any) -> None:
    tokenizer = letters()
    row = reader("rows").Rows(tokenizer).row(NEW, [OLD, OTHER])
    read = [spelled(tokenizer, row.pieces[: end + 1]) for end in row.ends]
    assert [text.splitlines()[-1] for text in read] == [f"- {OLD}", "- The cat came along."]
    assert all(text.endswith("\n") for text in read)


def test_what_stands_before_a_candidate_does_not_depend_on_what_follows(reader: Any) -> None:
    rows = reader("rows").Rows(letters())
    one, both = rows.row(NEW, [OLD]), rows.row(NEW, [OLD, OTHER])
    assert both.pieces[: len(one.pieces)] == one.pieces
    assert both.ends[0] == one.ends[0]


def weights(layers: int, seed: int) -> dict[str, Any]:
    chance = np.random.default_rng(seed)
    found = {f"layers.{at}.wide.weight": chance.normal(size=(6, 8)).astype(np.float32) for at in range(layers)}
    return found | {"norm.weight": chance.normal(size=8).astype(np.float32)}


def test_kept_weights_differ_from_the_trained_ones_by_half_a_step_at_most(reader: Any, tmp_path: Path) -> None:
    kept = reader("kept")
    start, head = weights(3, seed=1), {"head.weight": np.full((5, 8), 0.3, dtype=np.float32)}
    trained = {name: item + 0.01 * weights(3, seed=2)[name] for name, item in start.items()} | head
    kept.keep(tmp_path, trained, start)
    found = kept.kept(tmp_path, start)
    assert found.keys() == trained.keys()
    assert kept.depth_of(found) == 3
    for name, item in trained.items():
        if name in start and item.ndim == 2:
            step = np.abs(item - start[name]).max(axis=1, keepdims=True) / kept.MOST
            assert (np.abs(found[name] - item) <= 0.51 * step + 1e-6).all()
        else:
            assert (found[name] == item).all()


def test_a_frozen_layer_is_kept_exactly(reader: Any, tmp_path: Path) -> None:
    kept, start = reader("kept"), weights(2, seed=1)
    trained = start | {"layers.1.wide.weight": start["layers.1.wide.weight"] + 1}
    kept.keep(tmp_path, trained, start)
    assert (kept.kept(tmp_path, start)["layers.0.wide.weight"] == start["layers.0.wide.weight"]).all()


def test_a_reader_of_fewer_layers_is_found_with_the_weights_of_more(reader: Any, tmp_path: Path) -> None:
    kept = reader("kept")
    kept.keep(tmp_path, weights(2, seed=1), weights(2, seed=1))
    assert kept.depth_of(kept.kept(tmp_path, weights(3, seed=1))) == 2


def test_the_mean_of_two_readers_has_half_of_each(reader: Any) -> None:
    lists = [(NEW, (OLD, OTHER))]
    one = {lists[0]: [Opinion(0.6, 0, 0, 0.2, 0.2), None]}
    other = {lists[0]: [Opinion(0.2, 0, 0, 0.8, 0), Opinion(0, 0, 0, 0, 1)]}
    [[told, nothing]] = reader("mean").MeanOpinions(one, other).read_lists(lists)
    assert (told.same, told.conflict, told.distinct) == (0.4, 0.5, 0.1)
    assert nothing is None


def test_the_other_reader_counts_beside_each_of_two_readings(reader: Any) -> None:
    listed, alone = Opinion(1, 0, 0, 0, 0), Opinion(0.6, 0, 0, 0.4, 0)
    twice = ReadTwice(0.8, 0, 0, 0.2, 0, first=listed, second=alone)
    told = reader("mean").mean_of(twice, Opinion(0, 0, 0, 1, 0))
    assert (told.same, told.first.same, told.second.same) == (0.4, 0.5, 0.3)
    assert (told.conflict, told.first.conflict, told.second.conflict) == (0.6, 0.5, 0.7)
