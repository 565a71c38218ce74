"""`wellkept install`: one entry in a client's configuration; the rest stays unchanged."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surfaces.command_line import Cli
from wellkept.cli.install import CLIENTS, entry, launcher, merged, planned
from wellkept.errors import StorePathError

KEYS = {name: client.key for name, client in CLIENTS.items() if not client.is_toml}
UNTYPED = ("gemini-cli", "windsurf")


def installed(cli: Cli, client: str, path: Path, *more: str, code: int = 0) -> Any:
    return cli.json("install", "--client", client, "--path", str(path), *more, code=code)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("client", KEYS)
def test_a_file_that_is_not_there_is_made_with_its_folder(cli: Cli, tmp_path: Path, client: str) -> None:
    path = tmp_path / "deep" / "er" / "config.json"
    told = installed(cli, client, path)
    config = json.loads(path.read_text("utf-8"))
    assert (told["change"], told["backup"]) == ("added", "")
    assert config == {KEYS[client]: {"wellkept": told["entry"]}}
    assert told["entry"].get("type") == (None if client in UNTYPED else "stdio")
    assert Path(told["entry"]["command"]).is_absolute()


@pytest.mark.parametrize("client", KEYS)
def test_what_others_wrote_stays_and_is_kept_in_a_backup(cli: Cli, tmp_path: Path, client: str) -> None:
    path = tmp_path / "config.json"
    others = {
        "theme": "dünkel 部署",
        KEYS[client]: {"other": {"command": "x", "env": {"TOKEN": "secret"}}},
        "numbers": [1, 2.5, 10**30, None, True],
    }
    path.write_text(json.dumps(others), encoding="utf-8")
    path.chmod(0o600)
    before = path.read_bytes()
    told = installed(cli, client, path)
    config = json.loads(path.read_text("utf-8"))
    assert config[KEYS[client]].pop("wellkept") == told["entry"]
    assert config == others
    assert list(config) == list(others), "the order of the keys stays"
    assert Path(told["backup"]).read_bytes() == before
    for file in (path, Path(told["backup"])):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, "nobody else may read the keys of other servers"


def test_the_same_again_changes_nothing(cli: Cli, tmp_path: Path) -> None:
    # I5
    path = tmp_path / "config.json"
    path.write_text('{"theme":    "dark"}', encoding="utf-8")
    installed(cli, "cursor", path)
    before = files(tmp_path)
    told = installed(cli, "cursor", path)
    assert (told["change"], told["backup"]) == ("unchanged", "")
    assert files(tmp_path) == before


def test_a_second_change_keeps_the_first_backup_and_what_was_added_to_our_entry(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{}", encoding="utf-8")
    installed(cli, "cursor", path)
    config = json.loads(path.read_text("utf-8"))
    config["mcpServers"]["wellkept"]["env"] = {"WELLKEPT_EMBEDDER_KEY": "mine"}
    path.write_text(json.dumps(config), encoding="utf-8")
    told = installed(cli, "cursor", path, "--toolset", "full")
    assert told["change"] == "replaced"
    assert told["entry"]["args"][-2:] == ["--toolset", "full"]
    assert told["entry"]["env"] == {"WELLKEPT_EMBEDDER_KEY": "mine"}
    assert path.with_name("config.json.backup").read_bytes() == b"{}"
    assert json.loads(path.with_name("config.json.backup-2").read_text("utf-8")) == config


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"[1, 2]", "list"),
        (b'"text"', "text"),
        (b"null", "null"),
        (b"7", "single value"),
        (b'{"mcpServers": []}', "mcpServers"),
        (b'{"mcpServers": {"wellkept": 1}}', "mcpServers.wellkept"),
        (b'{"a": 1 // a comment\n}', "not JSON"),
        (b'{"a": 1,}', "not JSON"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"half": ', "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b'{"timeout": 1e400}', "number"),
        (b'{"timeout": NaN}', "number"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_file_that_is_no_json_object_is_refused_and_not_touched(
    cli: Cli, tmp_path: Path, content: bytes, word: str
) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    told = installed(cli, "cursor", path, code=1)["error"]
    assert told["type"] == "ConfigError" and word in told["what"]
    assert str(path) in told["where"] and "--print" in told["todo"]
    assert files(tmp_path) == {"config.json": content}


def test_an_empty_file_and_a_byte_order_mark_are_no_obstacle(cli: Cli, tmp_path: Path) -> None:
    for name, content in (("empty.json", b" \n"), ("marked.json", b'\xef\xbb\xbf{"a": 1}')):
        (tmp_path / name).write_bytes(content)
        assert installed(cli, "cursor", tmp_path / name)["change"] == "added"
        assert (tmp_path / f"{name}.backup").read_bytes() == content


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_folder_that_cannot_be_written_is_told(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    assert installed(cli, "cursor", folder / "config.json", code=1)["error"]["what"]


@pytest.mark.file
def test_a_folder_or_a_store_in_place_of_the_file_is_refused(cli: Cli, tmp_path: Path) -> None:
    assert "is not a file" in installed(cli, "cursor", tmp_path, code=1)["error"]["what"]
    cli.remember("Tea is upstairs.")
    before = cli.file.read_bytes()
    assert installed(cli, "cursor", cli.db, code=1)["error"]["type"] == "ConfigError"
    assert cli.file.read_bytes() == before


def test_a_link_leads_to_the_file_that_is_changed(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_text("{}", encoding="utf-8")
    link = tmp_path / "config.json"
    link.symlink_to(target)
    installed(cli, "cursor", link)
    assert link.is_symlink() and "wellkept" in target.read_text("utf-8")


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"a": 1}', encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StorePathError, match="No space"):
        planned(path, lambda config: merged(config, "mcpServers", "wellkept", entry(["wellkept"]))).write()
    assert path.read_text("utf-8") == '{"a": 1}'
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("client", KEYS)
def test_printing_writes_nothing(cli: Cli, tmp_path: Path, client: str) -> None:
    done = cli("install", "--client", client, "--print")
    config = json.loads(done.stdout)
    assert set(config) == {KEYS[client]} and "Put it into" in done.stderr
    assert files(tmp_path) == {}


def test_each_client_has_its_usual_file(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert CLIENTS["claude-code"].path(folder=tmp_path) == tmp_path / ".mcp.json"
    assert CLIENTS["vscode"].path(folder=tmp_path) == tmp_path / ".vscode" / "mcp.json"
    assert CLIENTS["cursor"].path(home=home) == home / ".cursor" / "mcp.json"
    assert CLIENTS["claude-desktop"].path().parts[-2:] == ("Claude", "claude_desktop_config.json")
    cli("install", "--client", "vscode")
    assert (tmp_path / ".vscode" / "mcp.json").is_file()


def test_the_entry_names_the_store_from_anywhere_and_what_was_said(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("[kinds]\n", encoding="utf-8")
    path = tmp_path / "config.json"
    told = installed(
        cli, "cursor", path, "--namespace", "acme/alice", "--actor", "claude", "--policy", "own.toml"
    )["entry"]["args"]  # fmt: skip
    at = told.index("mcp")
    assert told[at:] == [
        "mcp", "--db", str(cli.db), "--policy", str(tmp_path / "own.toml"),
        "--namespace", "acme/alice", "--embedder", "hashing", "--actor", "claude",
    ]  # fmt: skip


def test_a_relative_store_from_the_environment_is_written_whole(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from wellkept.cli.app import app

    monkeypatch.setenv("WELLKEPT_DB", "mine.db")
    done = CliRunner().invoke(app, ["install", "--client", "cursor", "--print", "--quiet"])
    told = json.loads(done.stdout)["mcpServers"]["wellkept"]["args"]
    assert told[told.index("--db") + 1] == str(tmp_path / "mine.db")


def test_what_the_folder_and_the_environment_say_goes_with_the_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client starts the server elsewhere: without its namespace the agent would write into another one."""
    from typer.testing import CliRunner

    from wellkept.cli.app import app

    monkeypatch.chdir(tmp_path)
    text = 'db = "agent.db"\nnamespace = "team/x"\nembedder = "hashing"\n'
    (tmp_path / "wellkept.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("WELLKEPT_ACTOR", "ada")
    done = CliRunner().invoke(app, ["install", "--client", "cursor", "--print", "--quiet"])
    told = json.loads(done.stdout)["mcpServers"]["wellkept"]["args"]
    assert told[told.index("mcp") + 1 :] == [
        "--db", str(tmp_path / "agent.db"), "--namespace", "team/x", "--embedder", "hashing", "--actor", "ada",
    ]  # fmt: skip


@pytest.mark.parametrize("setting", ['embedder = "https://models.example/v1"', "[kinds.note]\npreset = 'general'"])
def test_an_endpoint_of_a_folder_and_a_policy_inside_of_settings_are_not_written_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    """As an option an endpoint that somebody else's file names would be sent the key of the environment."""
    from typer.testing import CliRunner

    from wellkept.cli.app import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "wellkept.toml").write_text(setting, encoding="utf-8")
    done = CliRunner().invoke(app, ["install", "--client", "cursor", "--print"])
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["mcpServers"]["wellkept"]["args"][-1] == "mcp"
    assert "is not written" in done.stderr


def test_the_command_of_the_entry_starts_a_server(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    value = installed(cli, "cursor", path)["entry"]
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": ""}
    done = subprocess.run(
        [value["command"], *value["args"]], input=request, cwd="/", env=environment, capture_output=True, text=True
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "wellkept", done.stderr


def test_the_launcher_is_this_installation() -> None:
    command = launcher()
    assert Path(command[0]).parent == Path(sys.executable).parent
