"""Which commands are handed over, and what goes with them."""

from __future__ import annotations

from dataclasses import fields

import pytest

from surfaces.command_line import Cli
from wellkept.cli.app import _COMMANDS
from wellkept.cli.daemon import environment, place
from wellkept.cli.daemon.handover import SERVED, VALUED, is_served
from wellkept.cli.terminal.command_table import Command, Group
from wellkept.cli.terminal.session import Shared

HANDED_OVER = [
    "recall tea",
    "--db list --json -q --actor=me recall tea",
    "queue remember tea",
    "remember -- serve",
]
DONE_HERE = [
    "",
    "--db list",
    "--db",
    "--version",
    "--unknown list",
    "recall --help",
    "queue drop 1",
    "queue",
    "erase 1",
    "answer",
    "serve",
    "mcp",
    "demo",
    "consolidate",
    "daemon stop",
]


@pytest.mark.parametrize("line", HANDED_OVER)
def test_a_short_command_that_asks_nothing_is_handed_over(line: str) -> None:
    assert is_served(line.split())


@pytest.mark.parametrize("line", DONE_HERE)
def test_what_is_long_or_asks_or_is_unknown_is_not(line: str) -> None:
    assert not is_served(line.split())


def test_what_is_handed_over_are_commands_and_their_options() -> None:
    names = set()
    for rows in _COMMANDS.values():
        for row in rows:
            if isinstance(row, Command):
                names.add(row.name)
            if isinstance(row, Group):
                names |= {f"{row.name} {command.name}" for command in row.commands}
    assert names >= SERVED
    assert VALUED == {f"--{item.name}" for item in fields(Shared) if item.type != "bool"}


def test_settings_and_the_terminals_go_along_and_a_shells_secrets_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "WELLKEPT_DB",
        "WELLKEPT_TOKEN",
        "NO_COLOR",
        "TZ",
        "PGPASSFILE",
        "https_proxy",
        "AWS_SECRET",
        "SSH_AUTH",
    ):
        monkeypatch.setenv(name, "x")
    sent = {variable.split(b"=")[0].decode() for variable in environment.sent()}
    assert {"WELLKEPT_DB", "WELLKEPT_TOKEN", "NO_COLOR", "TZ", "PGPASSFILE", "https_proxy", "HOME"} <= sent
    assert not {"AWS_SECRET", "SSH_AUTH"} & sent


def test_a_system_without_sockets_or_fork_says_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "offered", lambda: False)
    for command in ("start", "stop", "status"):
        assert "needs Unix domain sockets and fork" in cli("daemon", command, code=1).stderr
