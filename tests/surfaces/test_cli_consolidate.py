"""consolidate, apply, runs and undo --run: what people and scripts see.

Covers S1-1, S1-7, S1-11, S1-12, S1-17, S1-18, S1-22, S1-32, S1-43, S1-46, S1-47, S1-52, S1-53, S1-54, B-21, B-22.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from surfaces.command_line import Cli

TEA, AGAIN = "Tea is upstairs.", "tea is upstairs"
OLD, NEW = "The port is 8080.", "The port is 9090."


@pytest.fixture
def dirty(cli: Cli) -> Cli:
    """A repeat and a contradiction that a former policy let in."""
    (cli.folder / "open.toml").write_text('[kinds.lesson]\npreset = "append_only"\n', encoding="utf-8")
    lines = "\n".join((TEA, AGAIN, OLD, NEW))
    cli("import", "-", "--lines", "--kind", "lesson", "--policy", "open.toml", stdin=lines)
    return cli


def texts(cli: Cli) -> list[str]:
    return sorted(row["content"] for row in cli.rows("list"))


def files(cli: Cli, pattern: str = "*.json") -> list[Path]:
    return sorted((cli.folder / "reports" / "consolidation").glob(pattern))


def plan_of(cli: Cli, *arguments: str) -> str:
    file: str = cli.json("consolidate", *arguments)["plan"]
    return file


# --------------------------------------------------------------------------------------------
# A dry run


def test_by_default_nothing_is_changed_and_everything_is_told(dirty: Cli) -> None:
    # S1-1, S1-18: counts, each action with rule, reason, samples and before -> after, and what to do next.
    journal = dirty.rows("journal")
    shown = dirty("consolidate").stdout
    assert dirty.rows("journal") == journal
    for words in (
        "dry run, nothing is changed", "4 memories, 1 group of equal texts", "merge", "R1-exact-duplicate-merge",
        "2 memories say the same, to the letter or in another spelling", f'"{TEA}"', f'"{AGAIN}"',
        "active -> archived", "R5-flag-contradiction", 'number: "8080" -> "9090"', "wellkept apply ",
    ):  # fmt: skip
        assert words in shown


def test_plan_and_report_stand_beside_the_store(dirty: Cli) -> None:
    # S1-17.
    told = dirty.json("consolidate")
    assert Path(told["plan"]) in files(dirty, f"plan-{told['plan_id']}.json")
    report = json.loads(Path(told["report"]).read_text("utf-8"))
    assert report["run_id"] == told["run_id"] and report["plan_id"] == told["plan_id"]


def test_the_same_store_gives_the_same_plan_and_another_report(dirty: Cli) -> None:
    # B-22.
    one, two = dirty.json("consolidate"), dirty.json("consolidate")
    assert (one["plan_id"], one["plan"]) == (two["plan_id"], two["plan"])
    assert one["run_id"] != two["run_id"] and one["report"] != two["report"]


def test_json_has_the_counters_of_s1(dirty: Cli) -> None:
    # S1-54, S1-53.
    told = dirty.json("consolidate", "--execute")
    assert told["mode"] == "execute"
    assert told["planned"] == {
        "merge": 1, "fold": 0, "summarize": 0, "promote": 0,
        "archive": 0, "flag_contradiction": 1, "mark": 0, "noop": 0,
    }  # fmt: skip
    assert (told["executed"], told["skipped"], told["errors"]) == (2, 0, 0)
    assert texts(dirty) == sorted([AGAIN, OLD, NEW])


@pytest.mark.file
def test_a_missing_store_is_neither_made_nor_reported_on(cli: Cli) -> None:
    shown = cli("consolidate", "--execute")
    assert "There is no store" in shown.stderr and "Nothing to do" in shown.stdout
    assert not cli.file.exists() and not (cli.folder / "reports").exists()


def test_a_clean_store_gets_a_report_and_no_plan_file(cli: Cli) -> None:
    cli.remember(TEA)
    told = cli.json("consolidate")
    assert told["plan"] == "" and Path(told["report"]).is_file()
    assert cli.json("consolidate", "--plan", "p.json")["plan"] == "p.json"
    assert json.loads((cli.folder / "p.json").read_text("utf-8"))["actions"] == []


def test_only_the_first_actions_of_a_type_are_printed_and_the_rest_is_counted(cli: Cli) -> None:
    (cli.folder / "open.toml").write_text('[kinds.lesson]\npreset = "append_only"\n', encoding="utf-8")
    names = ("Ana", "Bo", "Cy", "Di", "Ed", "Flo", "Gil", "Hal")
    lines = "\n".join(f"{name} waters the ferns{end}" for name in names for end in ("", "."))
    cli("import", "-", "--lines", "--kind", "lesson", "--policy", "open.toml", stdin=lines)
    shown = cli("consolidate").stdout
    assert shown.count("R1-exact-duplicate-merge") == 5 and "… and 3 more merge; all are in " in shown
    assert cli("consolidate", "--show", "99").stdout.count("R1-exact-duplicate-merge") == 8
    assert cli("consolidate", "--show", "0").stdout.count("R1-exact-duplicate-merge") == 0


def test_hostile_texts_are_made_harmless(cli: Cli) -> None:
    (cli.folder / "open.toml").write_text('[kinds.lesson]\npreset = "append_only"\n', encoding="utf-8")
    for end in ("", "."):
        text, tag = f"Tea \u202e[red]is[/red] upstairs{end}", f"x\u202ey{end}"
        cli("remember", text, "-k", "lesson", "--policy", "open.toml", "-t", tag)
    shown = (cli("consolidate").stdout, *(file.read_text("utf-8") for file in files(cli)))
    assert len(shown) == 3 and all("[red]" in text and "\u202e" not in text for text in shown)


# --------------------------------------------------------------------------------------------
# Which memories, which rules


@pytest.mark.parametrize(
    ("arguments", "memories"),
    [
        ((), 4),
        (("--kind", "note"), 0),
        (("--kinds", "lesson", "--kind", "note"), 4),
        (("--tag", "x"), 0),
        (("--since", "2100-01-01"), 0),
        (("--until", "2100-01-01"), 4),
        (("--since", "2000-01-01", "--until", "2000-01-02"), 0),
        (("--limit", "3"), 3),
    ],
)
def test_the_scope_says_which_memories_are_looked_at(dirty: Cli, arguments: tuple[str, ...], memories: int) -> None:
    # S1-7.
    assert dirty.json("consolidate", *arguments)["detected"]["memories"] == memories


def test_rules_of_a_file_are_followed_and_those_of_a_schedule_only_on_it(dirty: Cli) -> None:
    # S1-32, S1-47, B-21.
    (dirty.folder / "rules.toml").write_text(
        '[[rules]]\nid = "out"\ntrigger = "weekly"\nwhen = {categoriesAny = ["lesson"]}\nthen = {action = "archive"}\n',
        encoding="utf-8",
    )
    by_hand = dirty.json("consolidate", "--rules", "rules.toml")
    daily = dirty.json("consolidate", "--rules", "rules.toml", "--trigger", "daily")
    assert [told["planned"]["archive"] for told in (by_hand, daily)] == [0, 0]
    dirty("consolidate", "--execute", "--only", "merge")
    weekly = dirty.json("consolidate", "--rules", "rules.toml", "--trigger", "weekly")
    assert weekly["planned"]["archive"] == 1, "two of the three that are left are in dispute"
    assert weekly["config_hash"] != by_hand["config_hash"]


def test_the_threshold_is_that_of_near_repeats_and_no_rule_merges_below_it() -> None:
    # S1-22, S1-54.
    from wellkept.cli.cleaning.consolidate_commands import RuleOptions

    def least(threshold: float | None) -> list[float | None]:
        rules = RuleOptions(threshold=threshold).config().merging
        return [rule.when.min_similarity for rule in rules]

    assert least(None) == [0.98, 0.95]
    assert least(0.85) == [0.98, 0.85]
    assert least(0.99) == [0.99, 0.99]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--rules", "none.toml"), 1, "none.toml"),
        (("--rules", "bad.toml"), 1, "unknown key 'when_'"),
        (("--rules", "binary.toml"), 1, "not UTF-8"),
        (("--since", "yesterday"), 1, "is not a date"),
        (("--since", "2026-02-01", "--until", "2026-01-01"), 2, "--until"),
        (("--trigger", "hourly"), 2, "hourly"),
        (("--threshold", "7"), 2, "--threshold"),
        (("--limit", "0"), 2, "--limit"),
        (("--only", "erase"), 1, "no action 'erase'"),
        (("--report", "none/r.json"), 1, "no such folder"),
        pytest.param(("--plan", "test.db"), 1, "part of a store", marks=pytest.mark.file),
        pytest.param(("--report", "test.db-wal"), 1, "part of a store", marks=pytest.mark.file),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_happens(
    dirty: Cli, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (dirty.folder / "bad.toml").write_text('[[rules]]\nid = "x"\nwhen_ = 1\n', encoding="utf-8")
    (dirty.folder / "binary.toml").write_bytes(b"\xff\xfe")
    shown = dirty("consolidate", "--execute", *arguments, code=code)
    assert said in " ".join((shown.stdout + shown.stderr).split())
    assert len(texts(dirty)) == 4


# --------------------------------------------------------------------------------------------
# Applying


def test_a_plan_is_applied_later_and_only_once(dirty: Cli) -> None:
    # S1-12, S1-43, B-22.
    plan = plan_of(dirty)
    shown = dirty("apply", plan).stdout
    assert "Consolidation of default: executed" in shown and "wellkept undo --run consolidate-" in shown
    assert texts(dirty) == sorted([AGAIN, OLD, NEW])
    again = dirty.json("apply", plan)
    assert (again["executed"], again["skipped"], again["errors"]) == (0, 2, 0)
    assert len(dirty.rows("conflicts")) == 1


def test_what_changed_since_is_stale_and_told(dirty: Cli) -> None:
    plan = plan_of(dirty)
    [tea] = [row["id"] for row in dirty.rows("list") if row["content"] == TEA]
    dirty("revise", tea, "Tea is downstairs.")
    shown = dirty("apply", plan, code=3).stdout
    assert "stale" in shown and "has changed since" in shown
    told = dirty.json("apply", plan, code=3)
    assert [one["state"] for one in told["not_applied"]] == ["stale"]


def test_single_actions_are_left_out_by_id_or_type(dirty: Cli) -> None:
    plan = plan_of(dirty)
    [merge] = [one["id"] for one in json.loads(Path(plan).read_text("utf-8"))["actions"] if one["type"] == "merge"]
    dry = dirty("apply", plan, "--dry-run", "--skip", merge).stdout
    assert "left out" in dry and len(texts(dirty)) == 4
    assert dirty.json("apply", plan, "--only", "flag_contradiction")["executed"] == 1
    assert len(texts(dirty)) == 4
    assert dirty.json("apply", plan, "--only", merge)["executed"] == 1
    assert len(texts(dirty)) == 3


@pytest.mark.parametrize("content", ["", "{}", '{"format": "wellkept.plan", "schema": 2}', "\x00"])
def test_what_is_no_plan_is_an_error_that_names_the_file(dirty: Cli, content: str) -> None:
    (dirty.folder / "p.json").write_text(content, encoding="utf-8")
    told = dirty.json("apply", "p.json", code=1)["error"]
    assert told["type"] == "InvalidPlan" and "p.json" in told["where"]


def test_a_plan_of_another_namespace_is_refused(dirty: Cli) -> None:
    told = dirty.json("--namespace", "other", "apply", plan_of(dirty), code=1)
    assert told["error"]["type"] == "InvalidPlan" and "--namespace" in told["error"]["todo"]


def test_all_namespaces_are_cleaned_each_by_itself(dirty: Cli) -> None:
    dirty("--namespace", "acme", "remember", TEA)
    told = dirty.rows("consolidate", "--all-namespaces", "--execute")
    assert {(one["namespace"], one["executed"]) for one in told} == {("acme", 0), ("default", 2)}
    assert len({one["report"] for one in told}) == 2
    assert "must be a folder" in dirty("consolidate", "--all-namespaces", "--report", "r.json", code=2).stderr


# --------------------------------------------------------------------------------------------
# Taking back


def test_a_run_is_listed_and_taken_back_as_a_whole(dirty: Cli) -> None:
    before = dirty.rows("list", "--status", "all")
    run = dirty.json("consolidate", "--execute")["run_id"]
    line = dirty.rows("runs")[-1]
    assert (line["run_id"], line["counts"], line["undone"]) == (run, {"flag_contradiction": 1, "merge": 1}, "no")
    assert run in dirty("runs").stdout
    taken = f"Undid 2 entries of the run; `wellkept undo --run undo-{run}` redoes them"
    assert taken in dirty("undo", "--run", run).stdout
    assert dirty.rows("list", "--status", "all") == before
    assert [one["undone"] for one in dirty.rows("runs")] == ["no", "yes"]
    assert dirty.json("undo", "--run", run, code=1)["error"]["type"] == "NotFound"
    dirty("undo", "--run", f"undo-{run}")
    assert len(texts(dirty)) == 3


def test_later_changes_stand_in_the_way_by_name_unless_forced(dirty: Cli) -> None:
    run = dirty.json("consolidate", "--execute")["run_id"]
    [tea] = [row["id"] for row in dirty.rows("list") if row["content"] == AGAIN]
    later = dirty.json("forget", tea)["entry"]
    refused = dirty.json("undo", "--run", run, code=1)["error"]
    assert refused["type"] == "UndoBlocked" and refused["entries"] == [later]
    assert "--force-except" in refused["todo"]
    forced = dirty.json("undo", "--run", run, "--force-except", code=3)
    assert len(forced["undone"]) == 1 and list(forced["blocked"].values()) == [[later]]


@pytest.mark.parametrize("arguments", [(), ("3", "--run", "x"), ("3", "--force-except")])
def test_undo_takes_an_entry_or_a_run(dirty: Cli, arguments: tuple[str, ...]) -> None:
    assert dirty("undo", *arguments, code=2).stderr


# --------------------------------------------------------------------------------------------
# The kill switch


@pytest.mark.parametrize("how", ["environment", "file", "file against environment"])
def test_the_kill_switch_forces_a_dry_run_whoever_pulls_it(
    dirty: Cli, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    # S1-52: said on standard error and in the report, and the exit code tells a scheduler.
    plan = plan_of(dirty)
    if how != "environment":
        (dirty.folder / "wellkept.toml").write_text("consolidate_dry_run = true\n", encoding="utf-8")
    if how != "file":
        monkeypatch.setenv("WELLKEPT_CONSOLIDATE_DRY_RUN", "1" if how == "environment" else "0")
    for command in (("consolidate", "--execute"), ("apply", plan)):
        shown = dirty(*command, code=3)
        assert "forces a dry run" in shown.stderr and "forced by consolidate_dry_run" in shown.stdout
        told: Any = dirty.json(*command, code=3)
        assert told["mode"] == "dry_run" and told["executed"] == 0
        assert json.loads(Path(told["report"]).read_text("utf-8"))["forced"] == told["forced"] != ""
    assert len(texts(dirty)) == 4
    assert dirty.json("consolidate")["forced"] == "", "a dry run that was asked for is not forced"


def test_a_kill_switch_that_says_neither_yes_nor_no_stops_the_run(dirty: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WELLKEPT_CONSOLIDATE_DRY_RUN", "perhaps")
    assert "must be true or false" in dirty("consolidate", "--execute", code=1).stderr
