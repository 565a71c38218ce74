"""`python -m benchmarks.layers`: that it runs, and that what it counts is what happened."""

from __future__ import annotations

import json
import time

import pytest

from benchmarks import layers
from wellkept.core.text.forms import canonical, slot_key


def test_the_time_and_the_modules_of_writes_and_recalls_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert layers.main(["--writes", "12", "--json"]) == 0
    told = {one["name"]: one["value"] for one in json.loads(capsys.readouterr().out)["figures"]}
    for name in ("write", "recall"):
        assert sum(value for label, value in told.items() if label.startswith(f"{name}_") and "/" in label) > 0
        assert 20 < told[f"{name}_modules"] < told[f"{name}_changes"]


def test_a_change_is_a_call_from_one_module_into_another() -> None:
    assert layers.walked(lambda: None) == (0, 0)
    fresh = f"Tea at {time.monotonic_ns()}!"  # canonical forms are cached
    modules, changes = layers.walked(lambda: canonical(fresh))
    assert modules >= 2 and changes >= 2
    assert layers.walked(lambda: canonical(fresh)) == (1, 1)
    assert layers.walked(lambda: [slot_key("") for _ in range(3)]) == (1, 3)
