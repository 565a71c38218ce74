"""`wellkept audit`: what is printed, written and left alone (issue 4, 8)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters import foreign_stores
from surfaces.command_line import Cli
from wellkept.core.consolidation.plan_file import plan_from


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Cli(tmp_path, tmp_path / "test.db")


def test_an_audit_prints_counts_examples_and_the_plan_and_writes_nothing(cli: Cli) -> None:
    foreign_stores.mcp_memory_service(cli.folder)
    before = sorted(cli.folder.iterdir())
    out = cli("audit", "sqlite_vec.db", code=3).stdout
    for words in ("store of mcp-memory-service", "Deploys happen on Monday.", '"Monday" -> "Friday"', "ok, thanks"):
        assert words in out
    assert "Plan: clusters to merge 1, conflicts to flag 1" in out
    assert sorted(cli.folder.iterdir()) == before  # no store was made either


def test_a_clean_store_ends_with_success(cli: Cli) -> None:
    (cli.folder / "a.md").write_text("- Tea is upstairs.\n")
    cli("audit", "a.md")


def test_json_has_the_figures(cli: Cli) -> None:
    foreign_stores.mem0(cli.folder / "mem0")
    found = cli.json("audit", "mem0", code=3)
    assert (found["format"], found["memories"], found["exact"], found["stale"], found["junk"]) == ("mem0", 9, 1, 1, 1)
    assert [plan["namespace"] for plan in found["plans"]] == ["default/alice", "default/bob"]
    assert cli.json("audit", "mem0", "--together", code=3)["namespaces"] == {"default": 8}


def test_plans_are_written_one_for_each_namespace(cli: Cli) -> None:
    foreign_stores.mem0(cli.folder / "mem0")
    found = cli.json("audit", "mem0", "--plan", "plan.json", code=3)
    assert found["plan_files"] == ["plan.json", "plan-2.json"]
    plans = [plan_from((cli.folder / name).read_text()) for name in found["plan_files"]]
    assert [plan.plan_id for plan in plans] == [plan["plan_id"] for plan in found["plans"]]


def test_a_file_that_is_there_is_not_overwritten_unasked(cli: Cli) -> None:
    (cli.folder / "a.md").write_text("- Tea is upstairs.\n")
    (cli.folder / "plan.json").write_text("mine")
    assert "the file exists" in cli("audit", "a.md", "--plan", "plan.json", code=1).stderr
    assert (cli.folder / "plan.json").read_text() == "mine"
    cli("audit", "a.md", "--plan", "plan.json", "--force")
    assert plan_from((cli.folder / "plan.json").read_text()).actions == ()


def test_standard_input_is_json_lines_with_a_mapping(cli: Cli) -> None:
    lines = b'{"note": "Tea is upstairs."}\n{"note": "tea is upstairs"}\n'
    found = cli.json("audit", "-", "--map", "content=note", stdin=lines, code=3)
    assert (found["format"], found["memories"], found["exact"]) == ("jsonl", 2, 1)


def test_import_takes_it_over_once(cli: Cli) -> None:
    foreign_stores.chroma(cli.folder / "chroma")
    first = cli.json("audit", "chroma", "--import", code=3)["import"]
    again = cli.json("audit", "chroma", "--import", code=3)["import"]
    assert (first["counts"]["created"], again["counts"]) == (7, {"replayed": 9})
    rows = cli.rows("list", "--namespace", "default/notes")
    assert rows[0]["provenance"] == ["chroma:n1", "chroma:n2"]  # the repeat's too
    assert rows[0]["created_at"].startswith("2026-01-05")


def test_hostile_text_is_shown_as_what_it_is(cli: Cli) -> None:
    line = json.dumps({"text": "Tea \u202e is upstairs.", "id": "x\u2066y"})
    (cli.folder / "a.jsonl").write_text(f"{line}\n{line}\n")
    out = cli("audit", "a.jsonl", code=3).stdout
    assert "\u202e" not in out
    assert "\u2066" not in out


def test_what_is_no_store_is_one_line_and_exit_1(cli: Cli) -> None:
    (cli.folder / "a.png").write_bytes(b"\x89PNG\x00")
    result = cli("audit", "a.png", code=1)
    assert "is not a known kind of store" in result.stderr
    assert "Traceback" not in result.stderr
