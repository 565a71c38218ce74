"""The table of docs/recording.md names existing operations on each surface."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from surfaces.command_line import Cli
from wellkept.operations.registry import OPERATIONS

PAGE = (Path(__file__).parents[2] / "docs" / "recording.md").read_text("utf-8")
ROWS = [
    [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]
    for line in PAGE.partition("## On every surface")[2].splitlines()
    if line.startswith("| `") and "deferred" not in line
]
BY_NAME = {row.name: row for row in OPERATIONS}


def test_every_operation_of_these_two_kinds_stands_there() -> None:
    shown = {tool[0] for *_, tool in ROWS}
    assert shown == {name for name in BY_NAME if name.startswith(("record_", "queue_")) or name.endswith("_episode")}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[3][0])
def test_a_row_names_verb_command_route_and_tool_as_they_are(tmp_path: Path, row: list[list[str]]) -> None:
    verbs, commands, routes, [tool] = row
    found = BY_NAME[tool]
    assert found.route is not None
    assert routes == [f"{found.route.method} {found.route.path}"]
    assert verbs[0].replace(".", "_") == tool
    Cli(tmp_path, tmp_path / "a.db")(*commands[0].split()[1:], "--help")
