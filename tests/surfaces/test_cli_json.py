"""Every command speaks JSON, with the keys of the library's value."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

import pytest
from typer.main import get_command

from surfaces.command_line import Cli
from wellkept.surfaces.cli.app import app
from wellkept.types import (
    BatchResult,
    Conflict,
    Graph,
    Hit,
    ImportReport,
    JournalEntry,
    Link,
    Memory,
    Neighbour,
    Problem,
    Stats,
    Version,
    WriteResult,
)

OLD, NEW = "Deploys happen on Monday.", "Deploys do not happen on Monday."
LINE = '{"content": "Tea at four."}\n'


def keys_of(record: type) -> set[str]:
    return {field.name for field in dataclasses.fields(record)}


def ids(cli: Cli) -> tuple[str, str]:
    return cli.remember(OLD), cli.remember(NEW)


def test_every_command_has_a_json_test() -> None:
    tested = {name for name, *_ in OBJECTS} | {name for name, *_ in LISTS} | {name for name, *_ in PLAIN}
    elsewhere = {"apply", "audit", "calibrate", "consolidate", "decay", "demo", "eval", "export", "namespaces"}
    elsewhere |= {"reflect", "replay", "runs"}
    assert set(get_command(app).commands) == tested | elsewhere  # type: ignore[attr-defined]


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
]


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
    assert set(cli.json(name, *arguments(cli))) == keys_of(record)


LISTS: list[tuple[str, Callable[[Cli], list[str]], type]] = [
    ("list", lambda cli: [], Memory),
    ("history", lambda cli: [cli.rows("list")[0]["id"]], Version),
    ("journal", lambda cli: [], JournalEntry),
    ("conflicts", lambda cli: [], Conflict),
    ("neighbors", lambda cli: [linked(cli)], Neighbour),
]


def linked(cli: Cli) -> str:
    src, dst = (row["id"] for row in cli.rows("list"))
    cli("link", src, dst)
    return str(src)


@pytest.mark.parametrize(("name", "arguments", "record"), LISTS, ids=[name for name, *_ in LISTS])
def test_a_list_prints_one_object_a_line(
    cli: Cli, name: str, arguments: Callable[[Cli], list[str]], record: type
) -> None:
    ids(cli)
    rows = cli.rows(name, *arguments(cli))
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
