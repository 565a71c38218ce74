"""The measurement of what is taken from conversations runs, and its scores can be computed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.transcripts import Kept, Noted, score, terms_of

from benchmarks import transcripts

TURNS = (
    ("D1:1", "Ana", "Hi Ben! I moved to Graz in May."),
    ("D1:2", "Ben", "My sister plays the violin in Vienna. Do you like it there?"),
    ("D1:3", "Ana", "Thanks!"),
)
NOTED = (("Ana", ["D1:1"], "Ana moved to Graz in May."), ("Ben", ["D1:2"], "Ben has a sister who is a violinist."))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    turns = [
        {"conv": "c", "dia_id": place, "speaker": speaker, "text": text, "date": "1:56 pm on 8 May, 2023"}
        for place, speaker, text in TURNS
    ]
    noted = [{"conv": "c", "dia_ids": places, "speaker": who, "text": text} for who, places, text in NOTED]
    for name, rows in (("turns", turns), ("observations", noted)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def test_the_measurement_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert transcripts.main([str(folder), "--embedder", "hashing", "--gate"]) == 0
    told = capsys.readouterr().out
    assert "1 conversations, 3 turns, 2 observations" in told
    assert "| **statements worth keeping**, without a model | 2 | 100.0 % | 100.0 % |" in told
    assert "| **facts of a recorded extractor** | 2 | 100.0 % | 100.0 % | 100.0 % | 100.0 % |" in told
    assert "invented facts taken: 0 of 2" in told and "Through the gate, statements: created 2" in told


def test_a_score_counts_places_and_words() -> None:
    noted = [
        Noted(frozenset({("c", "1")}), terms_of("Ana moved to Graz", "Ana"), ""),
        Noted(frozenset({("c", "2")}), terms_of("Ben plays chess badly", "Ben"), ""),
    ]
    kept = [
        Kept(frozenset({("c", "1")}), terms_of("I moved to Graz")),
        Kept(frozenset({("c", "2")}), terms_of("It rains in Vienna today")),
        Kept(frozenset({("c", "3")}), terms_of("Nobody noted this")),
    ]
    found = score(kept, noted)
    assert (found.recall_by_place, found.recall_by_words) == (1.0, 0.5)
    assert (found.precision_by_place, found.precision_by_words) == (2 / 3, 1 / 3)
