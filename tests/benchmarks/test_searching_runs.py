"""The search bench in the smallest form: every figure is there; how fast it was is asserted nowhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
MANY = 8


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(ROOT)  # the processes it starts find the module from here
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "benchmarks":
            del sys.modules[name]


@pytest.mark.slow
def test_a_quick_run_prints_every_figure_as_a_line_of_json_and_finds_what_there_is_to_find(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from benchmarks.searching import main

    arguments = ["--sizes", "1500", "--quick", "--queries", "6", "--rivals", "int8", "--dir", str(tmp_path)]
    assert main(arguments) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    figures = {line["figure"]: line for line in told if "figure" in line}
    assert {"search", "scan", "read-all", "numpy", "int8", "open, cold", "open, warm"} <= figures.keys()
    assert {f"{MANY} threads, {how}" for how in ("alone", "computing", "writing")} <= figures.keys()
    assert figures["search"]["recall"] == figures["scan"]["recall"] == figures["int8"]["recall"] == 1.0
    assert figures["writes meanwhile"]["per_second"] > 0
    ratios = {line["ratio"]: line for line in told if "ratio" in line}
    assert ratios["scan over read-all"]["goal"] == 1.5
    assert all(line["wall"] > 0 for line in ratios.values())


def test_a_contender_that_is_not_installed_is_left_out_and_an_unknown_one_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from benchmarks import searching

    monkeypatch.setitem(sys.modules, "usearch.index", None)
    rows = np.eye(4, dtype=np.float32)
    assert [name for name, _ in searching._others(rows, ["usearch"], tmp_path)] == ["numpy"]
    with pytest.raises(ValueError, match="no contender 'faiss'"):
        dict(searching._others(rows, ["faiss"], tmp_path))


@pytest.mark.parametrize("sort", ["sentences", "no directions", "all alike"])
def test_a_scan_of_bytes_with_its_error_bound_finds_what_brute_force_finds(sort: str, tmp_path: Path) -> None:
    from benchmarks.contenders import contender
    from benchmarks.vectors import sentences

    rng = np.random.default_rng(3)
    rows = {
        "sentences": sentences(3000, seed=1),
        "no directions": rng.standard_normal((3000, 384)).astype(np.float32),
        "all alike": np.ones((3000, 384), np.float32) + rng.standard_normal((3000, 384)).astype(np.float32) * 1e-3,
    }[sort]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    exact, rounded = (contender(name, rows, top=10, folder=tmp_path) for name in ("numpy", "int8"))
    for query in rows[:30]:
        scores = np.sort(rows @ query)[::-1]
        if scores[9] - scores[10] > 1e-6:  # where the tenth is not a tie
            assert rounded(query) == exact(query)
