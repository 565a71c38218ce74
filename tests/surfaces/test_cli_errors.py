"""Whatever is wrong ends with the right code and one line that says what, where and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surfaces.command_line import Cli
from wellkept import errors
from wellkept.cli.app import app
from wellkept.cli.terminal import exits

# arguments, standard input, exit code, words of the message
WRONG: list[tuple[list[str], bytes | None, int, str]] = [
    # 2: invalid command line
    (["no-such-command"], None, 2, "No such command"),
    (["remember", "x", "--no-such-option"], None, 2, "No such option"),
    (["remember", "x", "--importance", "much"], None, 2, "--importance"),
    (["remember", "x", "--on-conflict", "maybe"], None, 2, "supersede_sure"),
    (["remember", "x", "--file", "y"], None, 2, "not both"),
    (["revise", "abcd"], None, 2, "a field to change"),
    (["list", "--status", "lost"], None, 2, "superseded"),
    (["recall", "x", "--limit", "0"], None, 2, "greater than or equal to 1"),
    (["resolve", "k", "win"], None, 2, "keep-new"),
    (["import", "x", "--map", "content"], None, 2, "NAME=VALUE"),
    (["import", "x", "--map", "colour=c"], None, 2, "is not a field"),
    (["import", "x", "--set", "colour=red"], None, 2, "is not a field"),
    (["undo", "0"], None, 2, "greater than or equal to 1"),
    (["get"], None, 2, "Missing argument"),
    # 1: it could not be done
    (["remember", ""], None, 1, "empty"),
    (["remember"], b"", 1, "empty"),
    (["remember", "-"], b"a\xff", 1, "UTF-8"),
    (["remember", "-"], b"a\x00b", 1, "U+0000"),
    (["remember", "x" * 200_001], None, 1, "200000"),
    (["remember", "--file", "nowhere.txt"], None, 1, "nowhere.txt"),
    (["remember", "--file", "."], None, 1, "cannot be read"),
    (["remember", "Tea.", "--kind", "gossip"], None, 1, "Use one of:"),
    (["remember", "Tea.", "--importance", "7"], None, 1, "0 to 1"),
    (["remember", "Tea.", "--importance", "nan"], None, 1, "0 to 1"),
    (["remember", "Tea.", "--polarity", "3"], None, 1, "-1, 0 or 1"),
    (["remember", "Tea.", "--event-time", "yesterday"], None, 1, "ISO 8601"),
    (["remember", "Tea.", "--metadata", "{"], None, 1, "JSON"),
    (["remember", "Tea.", "--metadata", "[1]"], None, 1, "mapping"),
    (["remember", "Tea.", "--namespace", "a//b"], None, 1, "is not a path"),
    (["remember", "Tea.", "--embedder", "magic"], None, 1, "minilm"),
    (["remember", "Tea.", "--durability", "some"], None, 1, "relaxed"),
    (["remember", "Tea.", "--policy", "none.toml"], None, 1, "none.toml"),
    (["remember", "Tea.", "--db", "redis://here"], None, 1, "redis"),
    (["remember", "Tea.", "--db", "no/such/folder/a.db"], None, 1, "does not exist"),
    (["remember", "Tea.", "--db", "."], None, 1, "directory"),
    (["get", "nothing"], None, 1, "nothing"),
    (["history", "nothing"], None, 1, "nothing"),
    (["revise", "nothing", "New."], None, 1, "nothing"),
    (["forget", "nothing"], None, 1, "nothing"),
    (["restore", "nothing"], None, 1, "nothing"),
    (["split", "nothing"], None, 1, "nothing"),
    (["judge", "99", "right"], None, 1, "entry 99 is no decision"),
    (["supersede", "one", "two"], None, 1, "one"),
    (["link", "same", "same"], None, 1, "itself"),
    (["link", "one", "two", "--strict"], None, 1, "one"),
    (["undo", "99"], None, 1, "99"),
    (["resolve", "nokey", "merge"], None, 1, "nokey"),
    (["import", "nowhere.jsonl"], None, 1, "nowhere.jsonl"),
    (["import", "text.txt", "--set", "importance=much"], None, 1, "importance"),
    (["remember-many", "nowhere.jsonl"], None, 1, "nowhere.jsonl"),
    (["export", "no/such/folder/x.jsonl"], None, 1, "folder"),
    pytest.param(["reembed"], None, 1, "no such store", marks=pytest.mark.file),
    # 4: refused by the policy
    (["remember", "ok"], None, 4, "Not stored"),
]


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "words"),
    WRONG,
    ids=[" ".join(getattr(item, "values", item)[0])[:40] for item in WRONG],
)
def test_it_ends_with_the_code_and_says_why(
    cli: Cli, arguments: list[str], stdin: bytes | None, code: int, words: str
) -> None:
    Path("text.txt").write_text("A line.\n", encoding="utf-8")
    result = cli("--quiet", *arguments, stdin=stdin, code=code)
    told = " ".join((result.stderr or result.stdout).split())
    assert words in told
    assert "Traceback" not in told
    if code == exits.ERROR:
        assert result.stdout == ""
        [line] = result.stderr.strip().splitlines()
        assert line.startswith("error: ")


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (["get", "nothing"], 1, "NotFound"),
        (["remember", " "], 1, "EmptyContent"),
        (["remember", "Tea.", "--kind", "gossip"], 1, "UnknownKind"),
        (["list", "--db", "redis://here"], 1, "UnknownBackend"),
    ],
)
def test_with_json_the_error_is_the_one_object(cli: Cli, arguments: list[str], code: int, kind: str) -> None:
    result = cli(*arguments, "--json", code=code)
    told = json.loads(result.stdout)["error"]
    assert told["type"] == kind
    assert set(told) == {"type", "what", "where", "todo", "message"}
    assert issubclass(getattr(errors, kind), errors.WellkeptError)
    assert "error:" not in result.stderr


@pytest.mark.file
def test_a_file_that_is_no_store_is_left_alone(cli: Cli) -> None:
    cli.file.write_bytes(b"precious text, and quite a lot of it " * 5)
    before = cli.file.read_bytes()
    assert "not a Wellkept store" in cli("remember", "Tea.", code=1).stderr
    assert "not a Wellkept store" in cli("list", code=1).stderr
    assert cli.file.read_bytes() == before


def test_a_wrong_setting_stops_every_command(cli: Cli) -> None:
    Path("wellkept.toml").write_text("colour = 'red'\n", encoding="utf-8")
    told = cli("list", code=1).stderr
    assert "colour" in told and "wellkept.toml" in told and "namespace" in told


def test_the_help_tells_every_exit_code() -> None:
    told = CliRunner().invoke(app, ["--help"]).output
    for code in exits.MEANINGS:
        assert f"\n {code}  " in told


def test_every_exit_code_is_documented_once() -> None:
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    assert codes == set(exits.MEANINGS)
