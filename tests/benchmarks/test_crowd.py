"""Rows that fill a large store are those of the gate, in any number of steps."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from wellkept.models.hashing import HashingEmbedder
from wellkept.policy import Policy
from wellkept.storage.sqlite import SqliteStorage

ROOT = Path(__file__).parents[2]
TEXTS = [f"Shed number {number} holds the {colour} bicycles." for number in range(20) for colour in ("red", "blue")]


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "benchmarks":
            del sys.modules[name]


def rows_of(path: Path, *steps: int) -> list[wellkept.Memory]:
    from benchmarks.crowd import Crowd

    with wellkept.open(SqliteStorage(path), embedder=HashingEmbedder(), relation_model="none") as store:
        for rows in steps:
            crowd = Crowd(TEXTS, HashingEmbedder(), Policy(), embedded=30)
            crowd.fill(store._ctx.storage, store.namespace, rows)
        assert not store.verify()
        assert store.stats().without_vector == 0
        assert store.remember(TEXTS[5], kind="note").outcome == "duplicate"
        assert store.recall(TEXTS[7])[0].memory.content == TEXTS[7]
        return store.list()


def test_a_filled_store_is_sound_and_the_gate_knows_its_rows(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "whole.db", 40)
    assert [row.content for row in sorted(rows, key=lambda row: row.id)] == TEXTS


def test_an_interrupted_build_goes_on_where_it_ended(tmp_path: Path) -> None:
    ids = [{row.id for row in rows_of(tmp_path / f"{len(steps)}.db", *steps)} for steps in ((40,), (10, 40))]
    assert ids[0] == ids[1]
