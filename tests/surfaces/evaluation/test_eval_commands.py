"""`wellkept eval`: JSON for programs, tables for people, and only the given file is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from surfaces.command_line import Cli

PAIRS: list[dict[str, str]] = [
    {"old": "Use ruff for linting.", "new": "use ruff for linting", "relation": "same", "subtype": "verbatim"},
    {"old": "Tea is at four.", "new": "Vier Uhr ist Tee.", "relation": "same", "subtype": "para", "lang": "en+de"},
    {"old": "Cups stand downstairs.", "new": "Cups stand downstairs, behind the jars.", "relation": "refines"},
    {"old": "The port is 8080.", "new": "The port is 9090.", "relation": "conflict", "subtype": "number"},
    {"old": "Ana waters the ferns.", "new": "Ben waters the roses.", "relation": "distinct"},
    {"old": "Ana waters the ferns.", "new": "The lift is broken.", "relation": "unrelated"},
]
PUBLIC = [
    {"id": "1", "a": "Tea is at four.", "b": "Tea is at five.", "label": "contradiction"},
    {"id": "2", "a": "Tea is at four.", "b": "tea is at four", "label": "duplicate"},
]
STORY = {
    "id": "one",
    "writes": [
        {"t": "2026-01-05T09:00", "text": "Tea is at four.", "kind": "fact", "subject": "tea", "truth": "K1=four"},
        {"t": "2026-01-06T09:00", "text": "Now at five.", "kind": "fact", "subject": "tea", "truth": "updates K1=5"},
        {"t": "2026-01-07T09:00", "text": "Done!", "kind": "note", "truth": "noise"},
    ],
    "queries": [{"q": "When is tea?", "key": "K1", "answer_contains": "five", "must_not_rank_first": ["at four"]}],
}  # fmt: skip
SCORES = {"precision", "recall", "f1"}


def written(folder: Path, name: str, rows: list[Any]) -> str:
    lines = [json.dumps({"id": str(number), **row}) for number, row in enumerate(rows)]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


@pytest.fixture
def pairs(cli: Cli) -> str:
    return written(cli.folder, "pairs.jsonl", PAIRS)


@pytest.fixture
def stories(cli: Cli) -> str:
    return written(cli.folder, "stories.jsonl", [STORY])


def test_pairs_as_json_hold_every_figure_with_its_interval_and_count(cli: Cli, pairs: str) -> None:
    report = cli.json("eval", "pairs", pairs, "--no-model")
    metrics = report["metrics"]
    for name in ("updates_lost", "false_merges", "duplicates_missed", "wrong_supersessions", "accuracy"):
        assert 0 <= metrics[name] <= 1
        assert report["intervals"][name][0] <= metrics[name] <= report["intervals"][name][1]
        assert len(report["counts"][name]) == 2
    for name in ("same", "refines", "conflict", "distinct", "distinct_strict"):
        assert set(metrics[name]) == set(report["intervals"][name]) == SCORES
    assert {"verbatim", "para", "number"} <= set(metrics["by_subtype"])
    assert {"english", "other", "en+de"} <= set(metrics["by_lang"])
    assert metrics["same_recall_at_precision_92"] is None  # rules do not say how sure they are
    assert report["model"] is None
    assert report["n"] == 6
    assert report["files"] == [{"file": "pairs.jsonl", "n": 6}]
    assert {"policy", "embedder", "model", "seconds", "resamples", "seed"} <= set(report)
    assert sum(sum(row.values()) for row in report["outcomes"].values()) == 6


def test_the_same_files_give_the_same_report(cli: Cli, pairs: str, stories: str) -> None:
    for arguments in (("pairs", pairs, "--ablation"), ("stories", stories)):
        first, second = cli.json("eval", *arguments), cli.json("eval", *arguments)
        for report in (first, second):
            report.pop("seconds")
            for row in report.get("ablation", ()):
                row.pop("seconds")
        assert first == second  # I4


def test_files_are_named_without_their_folders(cli: Cli) -> None:
    (cli.folder / "deep").mkdir()
    report = cli.json("eval", "pairs", written(cli.folder, "deep/pairs.jsonl", PAIRS))
    assert report["files"][0]["file"] == "pairs.jsonl"


def test_public_sets_stand_beside_each_other_and_as_a_mean(cli: Cli) -> None:
    files = [written(cli.folder, name, PUBLIC) for name in ("a.jsonl", "b.jsonl")]
    report = cli.json("eval", "pairs", *files)
    assert [row["file"] for row in report["files"]] == files
    assert report["metrics"]["swallowed_contradictions"] == 0.0
    assert report["metrics"]["duplicates_found"] == 1.0
    assert "counts" not in report  # of pairs of our own format, there are none
    shown = cli("eval", "pairs", *files).stdout
    assert "mean of files" in shown


def test_both_formats_in_one_call_keep_their_figures_apart(cli: Cli, pairs: str) -> None:
    report = cli.json("eval", "pairs", pairs, written(cli.folder, "set.jsonl", PUBLIC))
    assert {"wrong_supersessions", "public_wrong_supersessions", "related_merged"} <= set(report["metrics"])


def test_stories_as_json_hold_every_figure(cli: Cli, stories: str) -> None:
    report = cli.json("eval", "stories", stories)
    names = {
        "stale_first",
        "stale_first_all",
        "current_first",
        "current_in_top_3",
        "each_once",
        "duplicates_missed_per_100",
        "lost_updates",
        "wrong_supersessions",
        "noise_stored",
    }
    assert names <= set(report["metrics"])
    assert (report["n"], report["writes"], report["queries"]) == (1, 3, 1)
    assert [row["id"] for row in report["stories"]] == ["one"]
    assert report["metrics"]["noise_stored"] == 0.0


def test_all_stories_can_live_in_one_store_among_strangers(cli: Cli, stories: str) -> None:
    (cli.folder / "crowd.txt").write_text("The heron sleeps on one leg.\n\nTin melts early.\nA yard has three feet.\n")
    among = ("eval", "stories", stories, "--no-model", "--strangers", "crowd.txt")
    found = cli.json(*among, "--crowd", "3")
    assert found["metrics"]["findable"] == 1.0
    assert (found["metrics"]["wrong_folds"], found["metrics"]["wrong_marks"]) == (0.0, 0.0)
    short = cli(*among, "--crowd", "4", code=1)
    assert "3 lines" in short.stderr


def test_the_subjects_of_a_story_can_be_left_out(cli: Cli, stories: str) -> None:
    # S3-5: with its subject the update supersedes; without it, nothing ties the two texts together.
    assert cli.json("eval", "stories", stories)["metrics"]["stale_left"] == 0.0
    assert cli.json("eval", "stories", stories, "--no-subject", "--no-model")["metrics"]["stale_left"] == 1.0


def test_people_see_figures_with_what_they_mean(cli: Cli, pairs: str, stories: str) -> None:
    shown = cli("eval", "pairs", pairs).stdout
    for words in ("updates lost", "0 of 2", "the new text is in no place a reader finds", "verbatim", "en+de"):
        assert words in shown
    assert "stale first" in cli("eval", "stories", stories).stdout


def test_an_ablation_has_a_row_for_each_way_of_judging(cli: Cli, pairs: str) -> None:
    rows = cli.json("eval", "pairs", pairs, "--ablation")["ablation"]
    names = [row["name"] for row in rows]
    assert "rules only" in names
    assert (
        len(
            [
                name
                for name in names
                if name.split()[0] in ("insight", "consolidation", "conflicts", "facts", "evolution")
            ]
        )
        == 10
    )
    by_name = {row["name"]: row["metrics"] for row in rows}
    assert by_name["rules only"]["updates_lost"] == 0.0
    # What similarity alone costs: 8080 and 9090 are nearly the same text.
    assert by_name["evolution .88 .65 scaled"]["false_merges"] > 0
    assert "judged by" in cli("eval", "pairs", pairs, "--ablation").stdout


def test_errors_are_written_as_lines_that_say_why(cli: Cli, pairs: str, stories: str) -> None:
    cli("eval", "pairs", pairs, "--no-model", "--errors", "wrong.jsonl")
    rows = [json.loads(line) for line in (cli.folder / "wrong.jsonl").read_text("utf-8").splitlines()]
    assert {row["id"] for row in rows} >= {"1", "2"}  # the paraphrase and the detail, which rules do not see
    assert "0" not in {row["id"] for row in rows}  # the verbatim repeat
    keys = {"id", "old", "new", "expected", "got", "wrong", "outcome", "reasons", "differences"}
    assert all(keys <= set(row) and row["wrong"] for row in rows)
    cli("eval", "stories", stories, "--no-model", "--no-subject", "--errors", "wrong.jsonl")
    rows = [json.loads(line) for line in (cli.folder / "wrong.jsonl").read_text("utf-8").splitlines()]
    assert ["stale_left", "updates_unmarked"] in [row["wrong"] for row in rows]


def test_a_limit_takes_lines_from_the_whole_file(cli: Cli, pairs: str) -> None:
    report = cli.json("eval", "pairs", pairs, "--limit", "3")
    assert report["n"] == 3
    assert set(report["outcomes"]) == {"same", "refines", "distinct"}


def test_a_policy_file_decides_what_is_measured(cli: Cli, pairs: str) -> None:
    (cli.folder / "keep.toml").write_text('[kinds.semantic]\npreset = "append_only"\n', encoding="utf-8")
    default = cli.json("eval", "pairs", pairs, "--no-model")
    other = cli.json("eval", "pairs", pairs, "--no-model", "--policy", "keep.toml")
    assert default["metrics"]["duplicates_missed"] < other["metrics"]["duplicates_missed"] == 1.0
    assert default["policy"] != other["policy"]


def test_the_users_own_store_is_not_touched(cli: Cli, pairs: str, stories: str) -> None:
    cli("eval", "pairs", pairs)
    cli("eval", "stories", stories)
    assert not cli.file.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pairs", "stories.jsonl"], "stories.jsonl, line 1"),
        (["stories", "pairs.jsonl"], "this is a pair"),
        (["pairs", "none.jsonl"], "none.jsonl"),
        (["pairs", "."], "cannot be read"),
        (["pairs", "pairs.jsonl", "--kind", "rumour"], "rumour"),
        (["pairs", "pairs.jsonl", "--errors", "pairs.jsonl"], "is one of the measured files"),
        pytest.param(["stories", "stories.jsonl", "--errors", "test.db"], "is part of a store", marks=pytest.mark.file),
        (["pairs", "pairs.jsonl", "--nli", "model.onnx"], "model.onnx"),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_runs(
    cli: Cli, pairs: str, stories: str, arguments: list[str], words: str
) -> None:
    cli.remember("A store that must survive.")
    before = {path.name: path.read_bytes() for path in cli.folder.iterdir() if path.suffix == ".jsonl"}
    assert words in cli("eval", *arguments, code=1).stderr
    assert cli.json("eval", *arguments, code=1)["error"]["what"]
    assert {path.name: path.read_bytes() for path in cli.folder.iterdir() if path.suffix == ".jsonl"} == before
    assert cli.rows("list")


def test_texts_and_names_cannot_command_the_terminal(cli: Cli) -> None:
    hostile = {**PAIRS[3], "subtype": "\x1b[31mred", "lang": "\x1b]0;title\x07"}
    shown = cli("eval", "pairs", written(cli.folder, "hostile.jsonl", [hostile])).stdout
    assert "\x1b" not in shown
    assert "\\x1b[31mred" in shown
