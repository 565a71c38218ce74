"""Calibrations kept on this machine: whole or not at all, and never a reason to fail (B-30, I7)."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from wellkept.core.judging.calibration import Calibration
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.similarity.graded import shipped
from wellkept.models.similarity.tables import KeptTables, Stored, Tables

TABLE = Calibration("mine", ((-1.0, -1.0), (0.7, 0.0), (0.9, 0.9), (1.0, 1.0)))
ID = "http/host/model: large"


def test_a_kept_table_comes_back_to_the_letter(tmp_path: Path):
    tables = Tables(tmp_path / "deep" / "folder")
    file = tables.put(ID, Stored(TABLE, "abc", own=True))
    assert file == tables.file(ID) and file.exists()
    assert tables.get(ID) == Stored(TABLE, "abc", own=True)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    "other", ["http/host/model:-large", "HTTP/HOST/MODEL: LARGE", "../../etc/passwd", "", "a" * 500]
)
def test_each_embedder_has_a_file_of_its_own_inside_the_folder(tmp_path: Path, other: str):
    tables = Tables(tmp_path)
    tables.put(ID, Stored(TABLE, "abc"))
    assert tables.get(other) is None
    assert tables.put(other, Stored(TABLE, "abc")) is not None
    assert tables.file(other).parent == tmp_path and tables.file(other) != tables.file(ID)
    assert tables.get(other) is not None


def broken(name: str) -> str:
    whole = {"format": 1, "embedder": ID, "name": "mine", "pairs": "abc", "own": False, "knots": TABLE.knots}
    match name:
        case "empty":
            return ""
        case "cut":
            return json.dumps(whole)[:40]
        case "a list":
            return "[]"
        case "another format":
            return json.dumps({**whole, "format": 2})
        case "another embedder":
            return json.dumps({**whole, "embedder": "else"})
        case "no knots":
            return json.dumps({key: value for key, value in whole.items() if key != "knots"})
        case "falling knots":
            return json.dumps({**whole, "knots": [[-1, -1], [0.5, 0.4], [0.6, 0.3], [1, 1]]})
        case "knots of text":
            return json.dumps({**whole, "knots": "high"})
        case "not a number":
            return json.dumps({**whole, "knots": [[-1, -1], [float("nan"), 0.4], [1, 1]]})
        case _:
            return "[" * 100_000


@pytest.mark.parametrize(
    "name",
    [
        "empty", "cut", "a list", "another format", "another embedder", "no knots", "falling knots",
        "knots of text", "not a number", "deep",
    ],
)  # fmt: skip
def test_a_broken_file_counts_as_none_says_so_and_is_replaced(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
):
    tables = Tables(tmp_path)
    tables.file(ID).write_text(broken(name), "utf-8")
    with caplog.at_level(logging.WARNING, logger="wellkept"):
        assert tables.get(ID) is None
    assert "will be made again" in caplog.text
    tables.put(ID, Stored(TABLE, "abc"))
    assert tables.get(ID) == Stored(TABLE, "abc")


def test_a_place_that_cannot_be_written_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "file").write_text("in the way")
    tables = Tables(tmp_path / "file")
    with caplog.at_level(logging.WARNING, logger="wellkept"):
        assert tables.put(ID, Stored(TABLE, "abc")) is None
        assert tables.get(ID) is None
    assert "cannot be kept" in caplog.text


@pytest.mark.parametrize(
    ("stored", "holds"),
    [
        (Stored(TABLE, shipped().hash), True),
        (Stored(TABLE, "an older set"), False),
        (Stored(TABLE, "my pairs", own=True), True),
    ],
)
def test_a_table_of_an_older_set_no_longer_holds_but_ones_own_does(tmp_path: Path, stored: Stored, holds: object):
    tables = Tables(tmp_path)
    tables.put(ID, stored)
    assert KeptTables(tables).stored(ID) == (TABLE, holds)


def test_a_measured_table_is_kept(tmp_path: Path):
    kept = KeptTables(Tables(tmp_path))
    assert kept.stored("hash/1") == (None, False)
    table = kept.measure("hash/1", HashingEmbedder().embed)
    assert kept.stored("hash/1") == (table, True)
