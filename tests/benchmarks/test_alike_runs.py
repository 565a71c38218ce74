"""`python -m benchmarks.alike` on stories of ours: the same on every backend, or it says so (I9, issue 7)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.alike import compare

ROOT = Path(__file__).parents[2]
AT = "2026-01-{:02}T09:00"
SAID = [
    ("Deploys go out from Jenkins every Tuesday.", "fact", "deploys", "D=Tuesday"),
    ("deploys go out from jenkins every tuesday", "fact", "deploys", "restates D"),
    ("Deploys go out from Jenkins every Friday.", "fact", "deploys", "updates D=Friday"),
    ("Keep the feature flag for a week.", "decision", "", "F=a week"),
    ("Держим флаг неделю после релиза.", "decision", "", "noise"),
    ("ok", "note", "", "noise"),
    ("The port of staging is 8080.", "lesson", "staging", "P=8080"),
    ("The port of staging is 9090.", "lesson", "staging", "updates P=9090"),
    ("ステージングのポートは9090番です。", "lesson", "staging", "noise"),
]
ASKED = {"When do deploys go out?": "D", "How long is the flag kept?": "F", "Which port has staging?": "P"}


def story(name: str) -> dict[str, object]:
    return {
        "id": name,
        "writes": [
            {"t": AT.format(day), "text": text, "kind": kind, "subject": subject, "truth": truth}
            for day, (text, kind, subject, truth) in enumerate(SAID, 1)
        ],
        "queries": [{"q": text, "key": key, "answer_contains": "x"} for text, key in ASKED.items()],
    }


def test_stories_are_told_alike_by_every_backend(tmp_path: Path) -> None:
    file = tmp_path / "stories.jsonl"
    file.write_text("".join(json.dumps(story(name)) + "\n" for name in ("one", "two")), encoding="utf-8")
    paths = os.pathsep.join(str(ROOT / part) for part in ("src", "tests", "."))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.alike", str(file), "--json"],
        capture_output=True, text=True, timeout=300, check=False, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    figures = {figure["name"]: figure for figure in json.loads(done.stdout)["figures"]}
    compared = {name.removesuffix("_differences"): figure["n"] for name, figure in figures.items()}
    assert compared["writes"] == 2 * len(SAID) and compared["answers"] == compared["packs"] == 2 * len(ASKED)
    assert compared["plans"] == compared["stores after a pass"] == 2
    assert {figure["value"] for figure in figures.values()} == {0}


def test_a_difference_is_counted_and_the_first_of_a_kind_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lives = {
        "memory": iter([("writes", 1), ("writes", 2), ("plans", 3)]),
        "sqlite": iter([("writes", 1), ("writes", 2), ("plans", 3)]),
        "postgres": iter([("writes", 1), ("writes", 5), ("plans", 4)]),
    }
    assert compare(lives) == (Counter(writes=2, plans=1), Counter(writes=1, plans=1))
    assert capsys.readouterr().err.splitlines() == [
        "writes, postgres: 5 instead of 2", "plans, postgres: 4 instead of 3"
    ]  # fmt: skip
