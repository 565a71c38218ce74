"""Reports, plan files, the log, the kill switch and the list of runs.

Covers S1-1, S1-10, S1-12, S1-16, S1-17, S1-45, S1-48, S1-51, S1-52, S1-53, B-22.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import pytest

import wellkept
from stores import EACH_BACKEND, Desk, desk
from wellkept.core.consolidation.rules import DEFAULT_RULES, Consolidation, Rule, When
from wellkept.engine.consolidation.reports import left_out, read_plan, report_of, write_plan, write_report
from wellkept.errors import InvalidPlan, NotFound, StorePathError, UndoBlocked
from wellkept.types import Plan

KEEP_ALL = wellkept.Policy.from_toml('[kinds.note]\npreset = "append_only"')
SECRET = "The deploy password is hunter2 and the mail ana@example.org."
HOSTILE = Rule(id='drop "it"\u202e', trigger="always", action="archive", when=When(categories_any=("old",)))
RULES = Consolidation(rules=(*DEFAULT_RULES[:2], HOSTILE, DEFAULT_RULES[4]))


@pytest.fixture(params=EACH_BACKEND)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """A dirty store: a repeat, a contradiction, and something to archive."""
    made = desk(request.param, tmp_path, policy=KEEP_ALL)
    say = made.store.remember
    say(SECRET, kind="note", metadata={"api_key": "sk-123"}, tags=["a"])
    say(SECRET.upper(), kind="note", metadata={"password": "hunter2"})
    say("An old one.", kind="note", tags=["old"])
    made.near("The port is 8080.", "The port is 9090.", 0.97)
    say("The port is 8080.", on_conflict="ignore")
    say("The port is 9090.", on_conflict="ignore")
    made.store._ctx = replace(made.store._ctx, policy=wellkept.Policy(), held=str)
    yield made
    made.store.close()


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "wellkept.consolidate"]


# --------------------------------------------------------------------------------------------
# The report


def test_a_dry_run_tells_everything_and_changes_nothing(place: Desk) -> None:
    # S1-1, S1-10: dry is the default.
    before = place.snapshot()
    report = report_of(place.store.consolidate(RULES))
    assert place.snapshot() == before
    assert report["mode"] == "dry_run"
    assert report["planned"] == {
        "merge": 1, "fold": 0, "summarize": 0, "promote": 0,
        "archive": 1, "flag_contradiction": 1, "mark": 0, "noop": 0,
    }  # fmt: skip
    assert (report["executed"], report["skipped"], report["errors"]) == (0, 0, 0)
    assert {action["state"] for action in report["actions"]} == {"planned"}


def test_a_report_has_the_fields_of_s1(place: Desk) -> None:
    # S1-16, S1-45, S1-53.
    run = place.store.consolidate(RULES, wellkept.Scope(kinds=("note",), tags=("a", "old"), limit=9), execute=True)
    report = json.loads(json.dumps(report_of(run)))
    assert report["run_id"] == run.run_id and report["run_id"].startswith("consolidate-")
    assert report["mode"] == "execute"
    assert report["config_hash"].startswith("sha256:")
    assert report["plan_id"] == run.plan.plan_id
    assert report["scope"]["categories"] == ["note", "a", "old"]
    assert report["scope"]["limit"] == 9
    assert report["detected"].keys() >= {"clusters", "contradiction_pairs"}
    assert report["planned"].keys() >= {"merge", "promote", "archive", "flag_contradiction", "noop"}


def test_every_action_has_before_and_after_and_its_journal_entry(place: Desk) -> None:
    # S1-53.
    report = report_of(place.store.consolidate(RULES, execute=True))
    merge, archive = (next(one for one in report["actions"] if one["type"] == kind) for kind in ("merge", "archive"))
    [change] = archive["changes"]
    assert (change["before"], change["after"], change["version"]) == ({"status": "active"}, {"status": "archived"}, 1)
    assert len(merge["changes"]) == 2 and merge["entry"] > 0 and merge["state"] == "executed"
    entry = next(item for item in place.store.journal() if item.seq == merge["entry"])
    assert entry.run_id == report["run_id"]


def test_every_action_is_a_planned_action_of_the_source_too(place: Desk) -> None:
    """S1-15: names and nesting; what an action does not change is left out."""
    promote = Rule(id="raise", trigger="always", action="promote", bump=0.25, when=When(categories_any=("old",)))
    run = place.store.consolidate(Consolidation(rules=(*DEFAULT_RULES[:2], promote, DEFAULT_RULES[4])))
    told = {action["type"]: action for action in report_of(run)["actions"]}
    assert set(told) == {"merge", "promote", "flag_contradiction"}
    for planned, action in ((action, told[action.type]) for action in run.plan.actions):
        assert action["targetIds"] == list(planned.targets)
        assert (action["rationale"]["ruleId"], action["rationale"]["reasons"]) == (planned.rationale.rule, ANY)
        assert action["rationale"].get("score") == planned.rationale.score
    merge, flag, raised = told["merge"], told["flag_contradiction"], told["promote"]
    assert merge["canonicalId"] == merge["canonical"] == merge["targetIds"][-1]
    assert merge["newCategories"] == ["a"] and "newImportance" not in merge
    assert merge["rationale"]["evidence"] == {"similarity": 1.0, "clusterId": ANY}
    assert flag["rationale"]["evidence"] == {"similarity": 0.97, "contradictionSignals": ["number"]}
    assert "canonicalId" not in flag and "newImportance" not in flag
    assert raised["newImportance"] > 0.5 and "newCategories" not in raised


def test_samples_are_short_and_hold_no_secret(place: Desk) -> None:
    # S1-16: a small redacted excerpt; values of metadata that changes are none of the report's business.
    text = json.dumps(report_of(place.store.consolidate(RULES)), ensure_ascii=False)
    assert "The deploy password is [secret]" in text
    assert not any(word in text for word in ("hunter2", "HUNTER2", "ana@example", "ANA@EXAMPLE", "sk-123"))


def test_counters_say_what_was_executed_skipped_and_failed(place: Desk) -> None:
    plan = place.store.plan(RULES)
    first = place.store.execute(plan, skip=["archive"])
    assert (first.executed, first.skipped, first.errors) == (2, 1, 0)
    second = place.store.execute(plan)
    assert (second.executed, second.skipped) == (1, 2)
    third = report_of(place.store.execute(plan))
    assert (third["executed"], third["skipped"]) == (0, 3)
    assert third["counts"]["merge"] == {"planned": 1, "executed": 0, "done": 1, "stale": 0, "left_out": 0, "failed": 0}


# --------------------------------------------------------------------------------------------
# Files


def test_reports_are_appended_and_never_overwritten(place: Desk) -> None:
    # S1-17: two runs within a second are two files.
    folder = place.folder / "reports"
    folder.mkdir()
    one, two = (place.store.consolidate(RULES, report=folder) for _ in range(2))
    first, second = Path(one.path), Path(two.path)
    assert first != second and {first.parent, second.parent} == {folder}
    assert json.loads(first.read_text("utf-8"))["run_id"] == one.run_id
    with pytest.raises(StorePathError, match="exists"):
        place.store.consolidate(RULES, report=first)
    assert json.loads(first.read_text("utf-8"))["run_id"] == one.run_id


def test_nothing_is_executed_when_the_report_could_not_be_written(place: Desk) -> None:
    before = place.snapshot()
    for target in (place.folder / "none" / "r.json", Path(__file__)):
        with pytest.raises(StorePathError):
            place.store.consolidate(RULES, execute=True, report=target)
    assert place.snapshot() == before


def test_a_report_that_fails_after_the_run_names_the_run(place: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorePathError, match="undo --run consolidate-"):
        place.store.consolidate(RULES, execute=True, report=place.folder / "r.json")


def test_a_report_or_plan_is_never_written_over_a_store(tmp_path: Path) -> None:
    place = desk("sqlite", tmp_path)
    place.store.remember("Tea is upstairs.")
    plan = place.store.plan()
    assert place.path is not None
    with pytest.raises(StorePathError):
        write_plan(plan, place.path)
    with pytest.raises(StorePathError):
        write_report(place.store.execute(plan, dry_run=True), place.path)
    assert place.store.verify() == ()


def test_the_same_plan_is_one_file_and_another_one_beside_it(place: Desk) -> None:
    # B-22: the name is the plan's id, which has no time.
    plan = place.store.plan(RULES)
    first, again = write_plan(plan, place.folder), write_plan(place.store.plan(RULES), place.folder)
    assert first == again and first.name == f"plan-{plan.plan_id}.json"
    assert write_plan(replace(plan, namespace="another"), place.folder).name == f"plan-{plan.plan_id}-2.json"
    assert read_plan(first) == plan


def test_a_plan_file_replaces_a_plan_and_nothing_else(place: Desk) -> None:
    plan, file = place.store.plan(RULES), place.folder / "p.json"
    write_plan(plan, file)
    write_plan(place.store.plan(), file)
    assert read_plan(file) == place.store.plan()
    file.write_text("my notes", encoding="utf-8")
    with pytest.raises(StorePathError, match="is not a plan"):
        write_plan(plan, file)
    assert file.read_text("utf-8") == "my notes"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"[]"])
def test_what_is_no_plan_file_is_an_invalid_plan(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.json").write_bytes(content)
    with pytest.raises(InvalidPlan):
        read_plan(tmp_path / "p.json")
    with pytest.raises(StorePathError):
        read_plan(tmp_path)


def test_a_plan_of_another_namespace_is_refused_dry_or_not(place: Desk) -> None:
    plan: Plan = place.store.plan(RULES)
    for dry_run in (True, False):
        with pytest.raises(InvalidPlan, match="namespace"):
            place.store.in_namespace("other").execute(plan, dry_run=dry_run)


@pytest.mark.parametrize(
    ("only", "skip", "left"),
    [
        ((), (), set()),
        (("merge",), (), {"archive", "flag_contradiction"}),
        ((), ("merge", "archive"), {"merge", "archive"}),
        (("merge",), ("merge",), {"merge", "archive", "flag_contradiction"}),
        (("promote",), (), {"merge", "archive", "flag_contradiction"}),
        ((), ("promote",), set()),
    ],
)
def test_only_and_skip_choose_by_type_whether_there_is_one_or_not(
    tmp_path: Path, only: tuple[str, ...], skip: tuple[str, ...], left: set[str]
) -> None:
    place = desk("memory", tmp_path, policy=KEEP_ALL)
    place.store.remember("Tea.", kind="note")
    place.store.remember("tea", kind="note")
    place.store.remember("An old one.", kind="note", tags=["old"])
    place.near("The port is 8080.", "The port is 9090.", 0.97)
    place.store.remember("The port is 8080.", on_conflict="ignore")
    place.store.remember("The port is 9090.", on_conflict="ignore")
    place.store._ctx = replace(place.store._ctx, policy=wellkept.Policy())
    plan = place.store.plan(RULES)
    out = left_out(plan, only, skip)
    assert {action.type for action in plan.actions if action.id in out} == left
    report = place.store.execute(plan, only=only, skip=skip)
    assert report.executed == 3 - len(left)
    with pytest.raises(InvalidPlan, match="no action 'erase'"):
        place.store.execute(plan, only=["erase"])


# --------------------------------------------------------------------------------------------
# The log


def test_a_run_speaks_the_log_grammar(place: Desk, caplog: pytest.LogCaptureFixture) -> None:
    # S1-48, S1-51.
    caplog.set_level(logging.INFO, "wellkept.consolidate")
    run = place.store.consolidate(RULES, execute=True, report=place.folder / "r.json")
    said = lines(caplog)
    assert [line.split()[0].removeprefix("CONSOLIDATE/") for line in said] == [
        "START", "DETECT", "PLAN", "EXECUTE", "CONTRADICTION", "MERGE", "ARCHIVE", "REPORT", "DONE",
    ]  # fmt: skip
    assert said[0] == f"CONSOLIDATE/START run_id={run.run_id} mode=execute config_hash={run.plan.config_hash}"
    assert said[1] == "CONSOLIDATE/DETECT clusters=1 contradiction_pairs=1"
    counts = "merge=1 fold=0 summarize=0 promote=0 archive=1 flag_contradiction=1 mark=0 noop=0"
    assert said[2].startswith(f"CONSOLIDATE/PLAN {counts}")
    assert said[3] == "CONSOLIDATE/EXECUTE begin"
    merge = next(action for action in run.plan.actions if action.type == "merge")
    assert f"CONSOLIDATE/MERGE canonical={merge.canonical} merged_from={merge.targets[0]} rule=R1" in said[5]
    assert said[-1] == "CONSOLIDATE/DONE ok"


def test_a_hostile_rule_id_cannot_forge_a_line(place: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "wellkept.consolidate")
    place.store.consolidate(RULES, execute=True)
    [archived] = [line for line in lines(caplog) if "ARCHIVE" in line]
    assert archived.isascii() and archived.isprintable()
    assert r'rule="drop \"it\"\u202e"' in archived


def test_a_dry_run_logs_no_execution(place: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "wellkept.consolidate")
    place.store.consolidate(RULES)
    steps = [line.split()[0].removeprefix("CONSOLIDATE/") for line in lines(caplog)]
    assert steps == ["START", "DETECT", "PLAN", "DONE"]


# --------------------------------------------------------------------------------------------
# The kill switch


def test_the_kill_switch_makes_every_execution_a_dry_run(place: Desk, caplog: pytest.LogCaptureFixture) -> None:
    # S1-52.
    plan, before = place.store.plan(RULES), place.snapshot()
    place.store._ctx = replace(place.store._ctx, held=lambda: "consolidate_dry_run (environment)")
    for run in (place.store.execute(plan), place.store.consolidate(RULES, execute=True)):
        assert (run.mode, run.forced, run.executed) == ("dry_run", "consolidate_dry_run (environment)", 0)
        assert report_of(run)["forced"] == "consolidate_dry_run (environment)"
    assert place.snapshot() == before
    assert "forces a dry run" in caplog.text


def test_the_library_hears_the_switch_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # S1-52: whoever pulls it is heard in every program, at once.
    monkeypatch.chdir(tmp_path)
    place = desk("memory", tmp_path, policy=KEEP_ALL)
    place.store.remember("Tea.", kind="note")
    place.store.remember("tea", kind="note")
    place.store._ctx = replace(place.store._ctx, policy=wellkept.Policy())
    monkeypatch.setenv("WELLKEPT_CONSOLIDATE_DRY_RUN", "yes")
    assert place.store.consolidate(execute=True).mode == "dry_run"
    monkeypatch.delenv("WELLKEPT_CONSOLIDATE_DRY_RUN")
    assert place.store.consolidate(execute=True).executed == 1


# --------------------------------------------------------------------------------------------
# Runs


def test_runs_are_listed_with_what_they_did_and_whether_it_stands(place: Desk) -> None:
    assert place.store.runs() == ()
    run = place.store.consolidate(RULES, execute=True)
    place.store.consolidate(RULES)
    [line] = place.store.runs()
    assert (line.run_id, line.verb, line.undone) == (run.run_id, "consolidate", "no")
    assert line.counts == {"archive": 1, "flag_contradiction": 1, "merge": 1}
    place.store.undo_run(run.run_id)
    assert [one.undone for one in place.store.runs()] == ["yes"]
    place.store.undo_run(f"undo-{run.run_id}")
    assert [one.undone for one in place.store.runs()] == ["no"]


def test_a_run_that_later_changes_stand_on_is_partly_undone(place: Desk) -> None:
    run = place.store.consolidate(RULES, execute=True)
    merge = next(action for action in run.plan.actions if action.type == "merge")
    place.store.forget(merge.canonical)
    with pytest.raises(UndoBlocked):
        place.store.undo_run(run.run_id)
    report = place.store.undo_run(run.run_id, force_except=True)
    assert len(report.undone) == 2 and len(report.blocked) == 1
    assert [one.undone for one in place.store.runs()] == ["partly"]
    with pytest.raises(NotFound):
        place.store.undo_run("consolidate-nothing")
