"""`python -m benchmarks.raising` in the smallest form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from benchmarks.raising import main


@pytest.mark.slow
def test_a_write_is_measured_with_questions_and_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writes = [{"text": text} for text in ("The standup is at ten.", "Standup starts half an hour earlier.")]
    stories = tmp_path / "stories.jsonl"
    stories.write_text(json.dumps({"writes": writes}) + "\n", encoding="utf-8")
    assert main([str(stories), "--turns", "1"]) == 0
    off, on, _ = (float(number) for number in re.findall(r"-?\d+\.\d+", capsys.readouterr().out))
    assert off > 0 < on
