"""`python -m benchmarks.beside`: other systems are scored by the code that scores Wellkept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.beside import __main__ as command
from benchmarks.beside import systems
from benchmarks.beside.keep_all import KeepAll
from benchmarks.beside.playing import play_one
from benchmarks.beside.system import Vectors
from benchmarks.beside.table import COLUMNS, row

from wellkept.evaluation.labelled_files import read_stories
from wellkept.models.hashing import HashingEmbedder

BREAD = "The rye bread is baked on Monday."
AGAIN = "Monday is the day on which rye bread gets baked."
MOVED = "The rye bread is baked on Friday from now on."
KEYS = "The key of the bakery hangs behind the flour."
STORY = {
    "id": "bakery",
    "writes": [
        {"t": "2026-01-05T09:00", "text": BREAD, "kind": "fact", "truth": "K1=Monday"},
        {"t": "2026-01-06T09:00", "text": KEYS, "kind": "note", "truth": "K2=flour"},
        {"t": "2026-01-07T09:00", "text": AGAIN, "kind": "note", "truth": "restates K1"},
        {"t": "2026-01-09T09:00", "text": MOVED, "kind": "fact", "truth": "updates K1=Friday"},
    ],
    "queries": [
        {"q": BREAD, "key": "K1", "answer_contains": "Friday", "must_not_rank_first": ["Monday"]},
        {"q": KEYS, "key": "K2", "answer_contains": "flour"},
    ],
}


class Joining(KeepAll):
    """Joins the third text of the story to the first, as tools do that merge by similarity."""

    def write(self, text: str, **rest: object) -> None:
        if text == AGAIN:
            self._texts[0] += f" | {text}"
        else:
            self._texts.append(text)


class Replacing(KeepAll):
    """Each text replaces the one before it."""

    def write(self, text: str, **rest: object) -> None:
        self._texts = [text]


class Refusing(KeepAll):
    """Keeps the first two texts only."""

    def write(self, text: str, **rest: object) -> None:
        self._texts = [*self._texts, text][:2]


KEPT = {
    "first answer outdated": "100.0 %",
    "current first": "50.0 %",
    "current in first 3": "100.0 %",
    "answers without repeats": "0.0 %",
    "duplicates left per 100 writes": "25.0",
    "updates lost": "0.0 %",
    "updates left unmarked": "100.0 %",
    "writes that hid what holds": "0.0 %",
}


@pytest.mark.parametrize(
    ("system", "differs"),
    [
        (KeepAll, {}),
        (Joining, {"duplicates left per 100 writes": "0.0", "answers without repeats": "100.0 %"}),
        (
            Replacing,
            {
                "first answer outdated": "0.0 %",
                "current in first 3": "50.0 %",
                "answers without repeats": "100.0 %",
                "duplicates left per 100 writes": "0.0",
                "updates left unmarked": "0.0 %",
                "writes that hid what holds": "50.0 %",  # the bread's day by the key's place, and that in turn
            },
        ),
        (
            Refusing,
            {
                "current in first 3": "50.0 %",
                "answers without repeats": "100.0 %",
                "duplicates left per 100 writes": "0.0",
                "updates lost": "100.0 %",
            },
        ),
    ],
)
def test_what_a_system_does_with_a_story_is_read_off_its_texts(system: type[KeepAll], differs: dict[str, str]) -> None:
    [story] = read_stories("bakery", [json.dumps(STORY).encode()])
    assert row([play_one(story, system(Vectors(HashingEmbedder())))]) == KEPT | differs


def test_the_table_names_the_systems_that_are_not_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "stories.jsonl"
    file.write_text(json.dumps(STORY), encoding="utf-8")
    [baseline] = [entry for entry in systems.SYSTEMS if entry.name == "keep-all"]
    absent = replace(baseline, name="absent", package="a-memory-that-nobody-wrote")
    monkeypatch.setattr(systems, "SYSTEMS", (baseline, absent))
    assert command.main([str(file), "--only", "keep-all", "--only", "absent"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("1 story, 4 writes, 2 queries of stories.jsonl\n")
    [line] = [line for line in told.splitlines() if line.startswith("| keep-all, plain cosine |")]
    assert line.count("|") == len(COLUMNS) + 2
    assert "Left out: a-memory-that-nobody-wrote is not installed." in told
