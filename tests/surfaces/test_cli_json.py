"""Every command speaks JSON, with the keys of the library's value."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from surfaces.command_line import Cli
from wellkept.cli.app import app
from wellkept.types import (
    BatchResult,
    Conflict,
    Graph,
    Hit,
    ImportReport,
    JournalEntry,
    Link,
    Memory,
    Problem,
    Stats,
    Version,
    WriteResult,
)
from wellkept.types.queue import Flushed, QueuedWrite

OLD, NEW = "Deploys happen on Monday.", "Deploys do not happen on Monday."
LINE = '{"content": "Tea at four."}\n'


def keys_of(record: type) -> set[str]:
    return {field.name for field in dataclasses.fields(record)}


def ids(cli: Cli) -> tuple[str, str]:
    return cli.remember(OLD), cli.remember(NEW)


ELSEWHERE = {
    "answer": "surfaces/test_cli_questions.py::"
    "test_several_answers_are_each_given_alone_and_a_refused_one_is_a_finding",
    "apply": "surfaces/test_cli_consolidate.py::test_a_plan_is_applied_later_and_only_once",
    "audit": "adapters/test_cli_audit.py::test_json_has_the_figures",
    "backup": "surfaces/test_cli_moving.py::test_a_backup_is_put_back_and_what_was_there_is_kept",
    "migrate": "surfaces/test_cli_moving.py::test_a_store_is_moved_and_the_same_command_again_copies_nothing",
    "restore-backup": "surfaces/test_cli_moving.py::test_a_backup_is_put_back_and_what_was_there_is_kept",
    "calibrate": "surfaces/test_cli_calibrate.py::test_a_built_in_table_is_shown_and_stays_in_force",
    "consolidate": "surfaces/test_cli_consolidate.py::test_json_has_the_counters_of_s1",
    "db distribute": "postgres/test_spreading.py::test_the_command_prints_them",
    "db index": "postgres/test_approximate.py::"
    "test_the_command_builds_one_where_there_is_enough_and_says_what_it_finds",
    "db move": "postgres/test_places.py::test_the_commands_show_set_and_move",
    "db place": "postgres/test_places.py::test_the_commands_show_set_and_move",
    "db remove-copy": "postgres/test_places.py::"
    "test_a_second_copy_that_no_move_made_is_shown_then_saved_in_a_file_and_removed",
    "db secure": "postgres/test_database_tokens.py::test_the_command_line_closes_a_store_and_keeps_tokens_in_it",
    "decay": "surfaces/test_cli_lifecycle.py::test_decay_counts_stages_and_names_what_would_go",
    "demo": "surfaces/test_demo.py::test_json_is_ascii_so_that_it_can_be_shown_anywhere",
    "daemon start": "surfaces/daemon/test_life_of_a_daemon.py::"
    "test_a_second_start_finds_the_first_daemon_and_stop_ends_it",
    "daemon status": "surfaces/daemon/test_life_of_a_daemon.py::"
    "test_a_second_start_finds_the_first_daemon_and_stop_ends_it",
    "daemon stop": "surfaces/daemon/test_life_of_a_daemon.py::"
    "test_a_second_start_finds_the_first_daemon_and_stop_ends_it",
    "eval pairs": "surfaces/evaluation/test_eval_commands.py::"
    "test_pairs_as_json_hold_every_figure_with_its_interval_and_count",
    "eval retrieval": "surfaces/evaluation/test_retrieval_running.py::"
    "test_the_report_holds_recall_with_intervals_and_the_baseline_beside_it",
    "eval stories": "surfaces/evaluation/test_eval_commands.py::test_stories_as_json_hold_every_figure",
    "forget-lessons": "surfaces/test_cli_questions.py::"
    "test_doctor_tells_how_often_acts_were_wrong_and_lessons_can_be_forgotten",
    "ingest": "surfaces/test_cli_ingest.py::test_every_format_is_shown_stored_once_and_taken_back",
    "install": "surfaces/install/test_install.py::test_a_file_that_is_not_there_is_made_with_its_folder",
    "jobs list": "surfaces/test_cli_work.py::test_json_is_a_line_for_each_job_with_all_its_keys",
    "jobs put": "surfaces/test_cli_work.py::test_a_job_can_be_put_before_its_time",
    "jobs retry": "surfaces/test_cli_work.py::"
    "test_what_was_given_up_is_listed_with_the_reason_and_tried_again_on_request",
    "open": "surfaces/page/test_open.py::test_a_link_opens_the_page_once_and_a_killed_server_loses_no_decision",
    "questions": "surfaces/test_cli_questions.py::test_a_limit_says_how_many_are_left_out_and_json_is_a_line_each",
    "queue drop": "surfaces/test_cli_recording.py::test_what_fails_stays_says_why_and_can_be_dropped",
    "kinds": "surfaces/test_cli_commands.py::test_kinds_are_listed_by_pack_with_what_they_do",
    "reflect": "surfaces/test_cli_lifecycle.py::test_reflect_executes_once_and_is_taken_back",
    "replay": "surfaces/test_cli_replay.py::test_json_is_the_whole_report",
    "runs": "surfaces/test_cli_consolidate.py::test_a_run_is_listed_and_taken_back_as_a_whole",
    "judge": "surfaces/operations/test_parity.py::test_the_table_answers_what_the_command_prints",
    "split": "surfaces/operations/test_parity.py::test_the_table_answers_what_the_command_prints",
    "serve": "surfaces/serving/test_process.py::test_a_server_says_where_it_listens_and_answers_there",
    "work": "surfaces/test_cli_work.py::test_json_is_a_line_for_each_job_with_all_its_keys",
    "token create": "surfaces/access/test_cli_token.py::test_the_namespace_of_the_settings_is_not_taken_for_a_grant",
    "token list": "surfaces/access/test_cli_token.py::test_a_token_is_made_listed_and_revoked",
    "token revoke": "surfaces/access/test_cli_token.py::test_a_token_is_made_listed_and_revoked",
}
"""Commands whose JSON is tested where the rest of them is: the test that reads it."""
HERE = {"export", "namespaces"}
"""Those of `test_export_and_namespaces`."""
OF_AGENTS = "standard output belongs to the agent, which takes it for context"
WITHOUT_JSON = {
    "mcp": "standard output belongs to the protocol, which is JSON itself",
    "hook session-start": OF_AGENTS,
    "hook session-end": OF_AGENTS,
    "hook pre-compact": OF_AGENTS,
    "hook take-in": OF_AGENTS,
}
"""Commands that print nothing of their own."""


def leaves(group: Any, before: str = "") -> Iterator[str]:
    """All commands with the groups they stand in."""
    for name, inner in group.commands.items():
        if hasattr(inner, "commands"):
            yield from leaves(inner, f"{before}{name} ")
        else:
            yield before + name


def test_every_command_has_a_json_test() -> None:
    tested = {name for name, *_ in OBJECTS} | {name for name, *_ in LISTS} | {name for name, *_ in PLAIN}
    listed = [*tested, *HERE, *ELSEWHERE, *WITHOUT_JSON]
    assert sorted(leaves(get_command(app))) == sorted(listed)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_json_test_that_is_named_is_there(name: str) -> None:
    file, _, function = ELSEWHERE[name].partition("::")
    text = (Path(__file__).parents[1] / file).read_text(encoding="utf-8")
    assert f"def {function}(" in text


OBJECTS: list[tuple[str, Callable[[Cli], list[str]], type]] = [
    ("remember", lambda cli: [OLD], WriteResult),
    ("check", lambda cli: [OLD], WriteResult),
    ("revise", lambda cli: [cli.remember(OLD), NEW], Memory),
    ("get", lambda cli: [cli.remember(OLD)], Memory),
    ("link", lambda cli: [*ids(cli), "refines"], Link),
    ("subgraph", lambda cli: [cli.remember(OLD)], Graph),
    ("stats", lambda cli: [], Stats),
    ("resolve", lambda cli: [conflict_key(cli), "keep-new"], Conflict),
    ("remember-many", lambda cli: [lines_file(cli)], BatchResult),
    ("import", lambda cli: [lines_file(cli)], ImportReport),
    ("record", lambda cli: [OLD], WriteResult),
    ("record-turn", lambda cli: [OLD, "--frame", "task"], WriteResult),
    ("episode start", lambda cli: [OLD], WriteResult),
    ("episode end", lambda cli: [cli.json("episode", "start", OLD)["memory"]["id"]], Memory),
    ("queue remember", lambda cli: [OLD], WriteResult),
    ("queue flush", lambda cli: [waiting(cli)], Flushed),
]


def waiting(cli: Cli) -> str:
    cli("queue", "remember", OLD, "--kind", "thesis")
    return "--again"


def conflict_key(cli: Cli) -> str:
    ids(cli)
    [conflict] = cli.rows("conflicts")
    key: str = conflict["key"]
    return key


def lines_file(cli: Cli) -> str:
    file = cli.folder / "lines.jsonl"
    file.write_text(LINE, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(("name", "arguments", "record"), OBJECTS, ids=[name for name, *_ in OBJECTS])
def test_a_command_prints_one_object_with_all_keys_of_its_value(
    cli: Cli, name: str, arguments: Callable[[Cli], list[str]], record: type
) -> None:
    assert set(cli.json(*name.split(), *arguments(cli))) == keys_of(record)


LISTS: list[tuple[str, Callable[[Cli], list[str]], type]] = [
    ("list", lambda cli: [], Memory),
    ("history", lambda cli: [cli.rows("list")[0]["id"]], Version),
    ("journal", lambda cli: [], JournalEntry),
    ("conflicts", lambda cli: [], Conflict),
    ("queue list", lambda cli: [waiting(cli)][1:], QueuedWrite),
]


@pytest.mark.parametrize(("name", "arguments", "record"), LISTS, ids=[name for name, *_ in LISTS])
def test_a_list_prints_one_object_a_line(
    cli: Cli, name: str, arguments: Callable[[Cli], list[str]], record: type
) -> None:
    ids(cli)
    rows = cli.rows(*name.split(), *arguments(cli))
    assert rows
    assert all(set(row) == keys_of(record) for row in rows)


PLAIN: list[tuple[str, Callable[[Cli], list[str]], dict[str, object]]] = [
    ("supersede", lambda cli: [*ids(cli)], {"entry": 3}),
    ("forget", lambda cli: [cli.remember(OLD)], {"entry": 2}),
    ("restore", lambda cli: [cli.remember(OLD)], {"restored": False}),
    ("erase", lambda cli: [cli.remember(OLD), "--yes"], {"entry": 2}),
    ("undo", lambda cli: [(cli.remember(OLD), "1")[1]], {"entry": 2, "undone": 1}),
    ("unlink", lambda cli: [*ids(cli)], {"removed": 0}),
    ("recall", lambda cli: ["anything"], {"hits": []}),
    ("neighbors", lambda cli: [cli.remember(OLD)], {"neighbors": [], "dangling": []}),
    ("pack", lambda cli: ["anything"], {"text": "", "tokens": 0, "groups": []}),
    ("verify", lambda cli: [], {"problems": []}),
    ("repair", lambda cli: [], {"dry_run": True, "mends": [], "left": []}),
    ("sweep", lambda cli: [], {"embedded": 0, "left": 0, "outage": ""}),
    ("maintain", lambda cli: [(cli.remember(OLD), "--once")[1]], {"stopped": False, "held": ""}),
    ("reembed", lambda cli: [(cli.remember(OLD), "--quiet")[1]], {"embedded": 0, "checked": 0}),
    ("doctor", lambda cli: [], {"ok": True}),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), PLAIN, ids=[name for name, *_ in PLAIN])
def test_a_number_or_a_flag_is_printed_under_its_name(
    cli: Cli, name: str, arguments: Callable[[Cli], list[str]], expected: dict[str, object]
) -> None:
    printed = cli.json(name, *arguments(cli))
    assert {key: printed[key] for key in expected} == expected


def test_hits_and_problems_have_all_keys_of_their_values(cli: Cli) -> None:
    src, _ = ids(cli)
    cli("link", src, "nowhere", "--quiet")
    [first, *_] = cli.json("recall", "when do deploys happen")["hits"]
    assert set(first) == keys_of(Hit)
    [problem] = cli.json("verify", code=3)["problems"]
    assert set(problem) == keys_of(Problem)


def test_export_and_namespaces(cli: Cli) -> None:
    ids(cli)
    target = str(cli.folder / "out.jsonl")
    assert cli.json("export", target) == {"lines": 4, "file": target}
    lines = cli("export", "-").stdout.splitlines()
    assert [*json.loads(lines[0])][:2] == ["wellkept", "namespace"]
    assert cli.json("namespaces") == {"namespaces": ["default"]}


def test_options_may_stand_before_or_behind_the_command(cli: Cli) -> None:
    cli("remember", OLD, "--namespace", "acme/alice")
    assert len(cli.rows("--namespace", "acme/alice", "list")) == 1
    assert len(cli.rows("list", "--namespace", "acme/alice")) == 1
    assert cli.rows("list") == []  # I8
    both = cli.rows("--namespace", "acme/bob", "list", "--namespace", "acme/alice")
    assert len(both) == 1, "what stands behind the command is nearer"
