"""`python -m benchmarks.judging_later` in the smallest form: every figure is there."""

from __future__ import annotations

import json

import pytest
from benchmarks.judging_later import main


@pytest.mark.slow
def test_a_write_that_is_judged_later_is_measured_beside_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--json"]) == 0
    figures = {figure["name"]: figure["value"] for figure in json.loads(capsys.readouterr().out)["figures"]}
    over = {"later_over_now", "alone_over_now", "rules_over_now"}
    assert set(figures) == {"now", "later", "alone", "judging", "rules", *over, "waited", "changed"}
    assert all(figures[name] > 0 for name in ("now", "later", "alone", "rules"))
