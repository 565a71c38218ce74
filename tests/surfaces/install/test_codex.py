"""`wellkept install --client codex`: one table of a TOML file; every other line stays."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from surfaces.command_line import Cli
from wellkept.cli.install import launcher

OTHERS = """model = "gpt"  # mine

[mcp_servers.other]
command = "x"
"""
OURS = """
[mcp_servers.wellkept]  # by hand
command = "old"
args = [
  "a", # [not a table]
]
startup_timeout_sec = 20

[mcp_servers.wellkept.env]
TOKEN = "secret"
"""
AFTER = """
# about the profile
[profiles.fast]
text = '''
[mcp_servers.nobody]
'''
"""


def installed(cli: Cli, path: Path, *more: str, code: int = 0) -> Any:
    return cli.json("install", "--client", "codex", "--path", str(path), *more, code=code)


@pytest.mark.parametrize("before", ["", OTHERS, OTHERS.rstrip("\n"), OTHERS + AFTER, OTHERS.replace("\n", "\r\n")])
def test_an_entry_is_added_and_removed_and_every_other_line_stays(cli: Cli, tmp_path: Path, before: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode())
    told = installed(cli, path)
    config = tomllib.loads(path.read_text("utf-8"))
    assert told["change"] == "added" and path.read_bytes().decode().startswith(before)
    assert config["mcp_servers"].pop("wellkept") == told["entry"]
    assert told["entry"]["command"] == launcher()[0]
    assert installed(cli, path)["change"] == "unchanged"
    assert installed(cli, path, "--remove")["change"] == "removed"
    assert not path.exists() if not before else path.read_bytes().decode().rstrip() == before.rstrip()
    assert installed(cli, path, "--remove")["change"] == "unchanged"


def test_an_entry_that_is_there_is_replaced_with_its_other_keys_and_the_lines_around_it(
    cli: Cli, tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(OTHERS + OURS + AFTER, encoding="utf-8")
    told = installed(cli, path)
    text = path.read_text("utf-8")
    config = tomllib.loads(text)
    assert told["change"] == "replaced"
    assert config["mcp_servers"]["wellkept"] == {
        **told["entry"], "startup_timeout_sec": 20, "env": {"TOKEN": "secret"},
    }  # fmt: skip
    assert text.startswith(OTHERS) and text.endswith(AFTER)
    assert Path(told["backup"]).read_text("utf-8") == OTHERS + OURS + AFTER
    installed(cli, path, "--remove")
    text = path.read_text("utf-8")
    assert text.startswith(OTHERS) and text.endswith(AFTER) and "wellkept" not in text


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"mcp_servers = {wellkept = {command = 'z'}}", "cannot be changed"),
        (b"mcp_servers.wellkept.command = 'z'", "cannot be changed"),
        (b"mcp_servers = 1", "mcp_servers is not an object"),
        (b"[mcp_servers]\nwellkept = 1", "mcp_servers.wellkept is not an object"),
        (b"[mcp_servers.wellkept]\nsince = 2026-01-01", "cannot be preserved"),
        (b"half = ", "not TOML"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_refused_and_not_touched(
    cli: Cli, tmp_path: Path, content: bytes, word: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    told = installed(cli, path, code=1)["error"]
    assert told["type"] == "ConfigError" and word in told["what"] and "--print" in told["todo"]
    assert [one.name for one in tmp_path.iterdir()] == ["config.toml"] and path.read_bytes() == content


def test_the_entry_is_printed_as_toml(cli: Cli, tmp_path: Path) -> None:
    printed = tomllib.loads(cli("install", "--client", "codex", "--print").stdout)
    assert printed["mcp_servers"]["wellkept"]["command"] == launcher()[0]
    assert not list(tmp_path.iterdir())
