"""`python -m benchmarks.working` in the smallest form: every figure is there; how fast it was is asserted nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_workers_are_measured_over_one_worker_and_each_does_its_share() -> None:
    paths = os.pathsep.join(str(ROOT / part) for part in ("src", "tests", "."))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.working", "--quick", "--workers", "1,2", "--json"],
        capture_output=True, text=True, timeout=300, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    told = json.loads(done.stdout)
    figures = {figure["name"]: figure["value"] for figure in told["figures"]}
    assert figures.keys() == {"rate_1", "rate_2", "ratio_2", "cpu_1", "cpu_2", "cpu_ratio_2"}
    assert all(value > 0 for value in figures.values())
    assert told["machine"]["store"] in ("PostgreSQL", "SQLite")
