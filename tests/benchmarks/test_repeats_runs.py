"""`python -m benchmarks.repeats` on a few pairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.repeats import main

PAIRS = (
    ("Invoices are signed by Petra.", "invoices are signed by Petra", "same"),
    ("The shop closes at six.", "At six the shop closes.", "same"),
    ("The meeting is on Monday.", "The meeting moved to Tuesday.", "conflict"),
    ("Backups run every night.", "Ana leads the billing team.", "unrelated"),
)


@pytest.mark.slow
def test_repeats_are_found_by_the_model_and_by_the_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": str(at), "old": old, "new": new, "relation": relation, "subtype": "", "domain": "", "lang": "en"}
        for at, (old, new, relation) in enumerate(PAIRS)
    ]
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main([str(pairs)]) == 0
    assert json.loads(capsys.readouterr().out) == {"pairs": 4, "precision": 0.92, "model": 1.0, "head": 1.0}
