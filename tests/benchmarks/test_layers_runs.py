"""`python -m benchmarks.layers`: that it runs, and that what it counts is what happened."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from benchmarks import layers
from wellkept.core.text.forms import canonical, excerpt


def test_the_time_and_the_modules_of_writes_and_recalls_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert layers.main(["--writes", "12", "--json"]) == 0
    told = {one["name"]: one["value"] for one in json.loads(capsys.readouterr().out)["figures"]}
    for name in ("write", "recall", "plan"):
        assert sum(value for label, value in told.items() if label.startswith(f"{name}_") and "/" in label) > 0
    for name in ("write", "recall"):
        assert 20 < told[f"{name}_modules"] < told[f"{name}_changes"]


def test_functions_are_named_and_stacks_are_written_for_flame_graphs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert layers.main(["--writes", "12", "--functions", "3", "--stacks", str(tmp_path)]) == 0
    told = [line.split() for line in capsys.readouterr().out.splitlines() if "%" in line]
    assert [name for name, *_ in told] == ["write"] * 3 + ["recall"] * 3 + ["plan"] * 3
    lines = (tmp_path / "write.folded").read_text("utf-8").splitlines()
    assert any("engine/gate/write:" in line and ";" in line for line in lines)
    assert all(line.rpartition(" ")[2].isdigit() for line in lines)


def test_a_function_counts_once_with_all_that_it_calls() -> None:
    spent = {("a/b:f", "a/c:g", "a/b:f"): 2.0, ("a/b:f",): 1.0, (): 0.5}
    assert layers.by_function(spent) == {"a/b:f": 3.0, "a/c:g": 2.0}
    assert layers.by_part(spent) == {"a/b": 3.0, "outside": 0.5}
    assert layers.folded(spent) == "outside 500\na/b:f 1000\na/b:f;a/c:g;a/b:f 2000\n"


def test_a_change_is_a_call_from_one_module_into_another() -> None:
    assert layers.walked(lambda: None) == (0, 0)
    fresh = f"Tea at {time.monotonic_ns()}!"  # canonical forms are cached
    modules, changes = layers.walked(lambda: canonical(fresh))
    assert modules >= 2 and changes >= 2
    assert layers.walked(lambda: canonical(fresh)) == (0, 0)
    assert layers.walked(lambda: [excerpt(fresh, 9) for _ in range(3)]) == (1, 3)


def test_the_most_frequent_changes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert layers.main(["--writes", "12", "--edges", "2"]) == 0
    told = [line.split() for line in capsys.readouterr().out.splitlines() if " -> " in line]
    assert [name for name, *_ in told] == ["write", "write", "recall", "recall"]
    assert int(told[0][1]) >= int(told[1][1]) > 0
