"""`make bench` in the smallest form: every figure is there; how fast it was is asserted nowhere."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FIGURES = {
    "writes": {"floor_writes", "writes", "batch_writes", "writes_ratio", "batch_ratio"},
    "gate": {"embedding", "gate_share", "check_minilm"},
    "check": {"check"},
    "import": {"import_floor", "import"},
    "growth": {"growth", "growth_floor", "growth_batch", "growth_end"},
    "batches": {"floor_cpu", "rules_ratio", "rules_many_ratio", "all_ratio", "all_many_ratio", "import_ratio"}
    | {"search_cpu", "recall_rules_ratio", "recall_ratio"},
    "contention": {"contention"},
    "scaling": {
        *(f"{name}_{size}" for name in ("write", "recall", "opened", "memory") for size in (20, 40)),
        *("write_growth_40", "recall_growth_40", "write_namespaces", "recall_namespaces"),
    },
}
WITH_GOALS = {
    *("writes_ratio", "batch_ratio", "gate_share", "check_minilm", "check", "import", "growth", "contention"),
    *("rules_ratio", "all_ratio", "all_many_ratio", "import_ratio", "recall_ratio"),
    *("write_growth_40", "recall_growth_40", "memory_20", "memory_40"),
}


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "benchmarks":
            del sys.modules[name]


@pytest.mark.soak
def test_a_quick_run_prints_every_figure_with_its_goal_and_leaves_nothing_behind(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from benchmarks.__main__ import main

    assert main(["--quick", "--json", "--dir", str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"python", "sqlite", "numpy", "cpus"} <= told["machine"].keys()
    figures = {figure["name"]: figure for figure in told["figures"]}
    assert figures.keys() == set().union(*FIGURES.values())
    for name, figure in figures.items():
        assert figure["value"] > 0, name
        assert figure["n"] > 0, name
        assert (figure["met"] in (True, False)) == (name in WITH_GOALS), name
        assert bool(figure["goal"]) == (name in WITH_GOALS), name
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_one_measurement_alone_is_printed_as_a_table_with_a_verdict(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from benchmarks.__main__ import main

    assert main(["--quick", "--only", "check", "--dir", str(tmp_path)]) == 0
    table = capsys.readouterr().out
    [line] = [line for line in table.splitlines() if line.startswith("check at")][:1]
    assert re.search(r"\d ms +\d+ +at most 5 +(met|NOT MET)$", line)
    assert "growth" not in table


def test_the_texts_are_the_same_in_every_run_and_hold_repeats_and_updates() -> None:
    from benchmarks.corpus import REPEATS, UPDATES, texts

    first, again, other = texts(5_000, seed=7), texts(5_000, seed=7), texts(5_000, seed=8)
    assert first == again
    assert first != other
    spelled = [re.sub(r"\W+", " ", text.casefold()).strip() for text in first]
    repeated = 1 - len(set(spelled)) / len(spelled)
    assert REPEATS / 2 < repeated < 2 * REPEATS
    changed = 1 - len({re.sub(r"\d+", "0", text) for text in spelled}) / len(spelled) - repeated
    assert 0 < changed < 3 * UPDATES


def test_the_floor_stores_what_it_is_told_and_finds_the_nearest_row(tmp_path: Path) -> None:
    from benchmarks.floor import Floor

    from wellkept.models.hashing import HashingEmbedder

    with Floor(tmp_path / "floor.db", HashingEmbedder()) as rows:
        rows.fill(["The piano needs tuning.", "Deploys happen on Monday."])
        assert rows.add("deploys happen on monday") == 2
        assert len(rows) == 3
