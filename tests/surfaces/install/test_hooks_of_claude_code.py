"""`wellkept install --client claude-code --hooks`: hooks, skill and server of one project; and the plugin."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from surfaces.command_line import Cli
from wellkept.cli.install.claude_code_hooks import PLUGIN, SETTINGS, SKILL, with_hooks, without_hooks
from wellkept.config import OF_PROJECT, namespace_of_project

EVENTS = {"SessionStart": "session-start", "PreCompact": "pre-compact", "SessionEnd": "session-end"}
OTHERS: dict[str, Any] = {
    "permissions": {"allow": ["Bash(ls)"]},
    "hooks": {
        "SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "echo hook session-start"}]}],
        "Stop": [],
    },
}


def installed(cli: Cli, *more: str, code: int = 0) -> Any:
    return cli.json("install", "--client", "claude-code", "--hooks", *more, code=code)


def commands(settings: Any) -> dict[str, list[str]]:
    return {
        event: [call["command"] for group in groups for call in group["hooks"]]
        for event, groups in settings["hooks"].items()
    }


def test_hooks_skill_and_server_are_added_once_and_removed_without_a_trace(cli: Cli, tmp_path: Path) -> None:
    settings, skill = tmp_path / SETTINGS, tmp_path / ".claude" / SKILL
    settings.parent.mkdir()
    settings.write_text(json.dumps(OTHERS), encoding="utf-8")
    told = installed(cli)
    assert [told["change"], told["hooks"]["change"], told["skill"]["change"]] == ["added"] * 3
    found = commands(json.loads(settings.read_text("utf-8")))
    assert found.pop("Stop") == [] and found["SessionStart"].pop(0) == "echo hook session-start"
    namespace = namespace_of_project(tmp_path.resolve())
    for event, name in EVENTS.items():
        (command,) = found[event]
        assert command.endswith(f" hook {name}") and f"--namespace {namespace}" in command
        assert f"--db {cli.db}" in command
    server = json.loads((tmp_path / ".mcp.json").read_text("utf-8"))["mcpServers"]["wellkept"]
    assert server["args"][server["args"].index("--namespace") + 1] == namespace, "hooks and tools share one memory"
    assert skill.read_bytes() == (PLUGIN / SKILL).read_bytes()

    again = installed(cli)
    assert [again["change"], again["hooks"]["change"], again["skill"]["change"]] == ["unchanged"] * 3

    gone = installed(cli, "--remove")
    assert [gone["change"], gone["hooks"]["change"], gone["skill"]["change"]] == ["removed"] * 3
    assert json.loads(settings.read_text("utf-8")) == OTHERS
    assert not (tmp_path / ".mcp.json").exists() and not skill.exists()
    gone = installed(cli, "--remove")
    assert [gone["change"], gone["hooks"]["change"], gone["skill"]["change"]] == ["unchanged"] * 3


def test_hooks_with_other_options_take_the_place_of_the_earlier_ones() -> None:
    first = with_hooks(OTHERS, ["/opt/wellkept", "--namespace", "a"])
    beside = json.loads(json.dumps(first))
    beside["hooks"]["SessionStart"][1]["hooks"].append({"type": "command", "command": "echo mine"})
    second = with_hooks(beside, ["/usr/bin/python3", "-m", "wellkept.cli"])
    assert [command for each in commands(second).values() for command in each if "/opt/" in command] == []
    assert commands(second)["SessionStart"][:2] == ["echo hook session-start", "echo mine"]
    assert without_hooks(first) == OTHERS


@pytest.mark.parametrize(
    "command",
    [
        "wellkept hook session-end",
        "'/opt/my tools/wellkept' --db '/a b.db' --namespace a hook session-end",
        "/usr/bin/python3 -m wellkept.cli --namespace a hook session-end",
        "wellkept --namespace hook hook session-end",
    ],
)
def test_a_command_that_runs_this_program_is_removed(command: str) -> None:
    assert without_hooks(ending(command)) == {}


@pytest.mark.parametrize(
    "command",
    [
        "~/bin/after-wellkept.sh --then hook session-end",
        "echo wellkept hook session-end",
        "notify 'wellkept is done'; other hook session-end",
        "echo done; wellkept hook session-end",
        "wellkept remember hook session-end",
        "wellkept hook session-end && echo done",
        "python3 -m pytest wellkept hook session-end",
        "wellkept hook",
        "hook session-end",
        "wellkept 'hook session-end",
        "",
        7,
    ],
)
def test_a_command_of_somebody_else_stays_whatever_words_it_has(command: Any) -> None:
    assert without_hooks(ending(command)) == ending(command)


def ending(command: Any) -> dict[str, Any]:
    return {"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": command}]}]}}


@pytest.mark.parametrize(
    ("file", "content", "word"),
    [
        (SETTINGS, b"{broken", "not JSON"),
        (SETTINGS, b'{"hooks": []}', "hooks is not an object"),
        (SETTINGS, b'{"hooks": {"SessionEnd": {}}}', "hooks.SessionEnd is not a list"),
        (Path(".mcp.json"), b"[]", "must hold a JSON object"),
    ],
)
def test_where_one_file_is_broken_nothing_is_written(
    cli: Cli, tmp_path: Path, file: Path, content: bytes, word: str
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / file).write_bytes(content)
    told = installed(cli, code=1)["error"]
    assert told["type"] == "ConfigError" and word in told["what"] and str(tmp_path / file) in told["where"]
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [tmp_path / file]
    assert (tmp_path / file).read_bytes() == content


def test_a_skill_that_somebody_changed_stays(cli: Cli, tmp_path: Path) -> None:
    installed(cli)
    skill = tmp_path / ".claude" / SKILL
    skill.write_text("mine", encoding="utf-8")
    installed(cli, "--remove")
    assert skill.read_text("utf-8") == "mine"


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_other_clients_have_no_hooks(cli: Cli, client: str) -> None:
    assert "Only claude-code" in cli("install", "--client", client, "--hooks", code=2).stderr


def test_the_plugin_has_the_hooks_the_server_and_the_skill_that_are_installed() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text("utf-8"))
    hooks = json.loads((PLUGIN / "hooks/hooks.json").read_text("utf-8"))
    server = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"]["wellkept"]
    assert manifest["name"] == "wellkept" and re.fullmatch(r"\d+\.\d+\.\d+", manifest["version"])
    assert hooks["hooks"] == with_hooks({}, ["wellkept", "--namespace", OF_PROJECT])["hooks"]
    assert server["args"] == ["mcp", "--namespace", OF_PROJECT]
    head = (PLUGIN / SKILL).read_text("utf-8").split("---")[1]
    assert "name: wellkept\n" in head and "description: " in head


def test_the_marketplace_of_the_repository_names_the_plugin_and_its_version() -> None:
    import wellkept

    root = Path(__file__).parents[3]
    market = json.loads((root / ".claude-plugin/marketplace.json").read_text("utf-8"))
    (plugin,) = market["plugins"]
    assert (root / plugin["source"]).resolve() == PLUGIN.resolve()
    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text("utf-8"))
    assert manifest["version"] == wellkept.__version__
