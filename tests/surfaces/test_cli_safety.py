"""Memories are written by anybody; showing them must not move a cursor, hide text or forge a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surfaces.command_line import Cli
from wellkept.cli.terminal.render import ShortIds
from wellkept.cli.terminal.safe import one_line, safe, safe_json

HOSTILE = [
    ("[bold red]markup[/] [link=http://x]y[/link]", "[bold red]markup[/] [link=http://x]y[/link]"),
    (":smile: stays", ":smile: stays"),
    ("evil \u202e txet", "evil \\u202e txet"),
    ("hidden \U000e0041 tag", "hidden \\U000e0041 tag"),
    ("zero\u200bwidth", "zero\\u200bwidth"),
    ("two\u2028lines", "two lines"),
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_hostile_text_is_shown_as_it_is(cli: Cli, text: str, shown: str) -> None:
    memory_id = cli.remember(text, "--kind", "thesis")
    table = " ".join(cli("list").stdout.split())
    assert shown in table
    for command in (["get", memory_id], ["recall", text], ["history", memory_id], ["journal"]):
        printed = cli(*command).stdout
        assert not [char for char in printed if char != "\n" and safe(char) != char]


def test_json_keeps_the_text_and_is_harmless_on_a_terminal(cli: Cli) -> None:
    text = "evil \u202e txet \U000e0041 ü 部署"
    cli("remember", text, "--kind", "thesis")
    printed = cli("list", "--json").stdout
    assert json.loads(printed)["content"] == text
    assert "\\u202e" in printed and "\\udb40\\udc41" in printed and "部署" in printed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b31m", "\\x9b31m"),
        ("bell\x07 back\x08", "bell\\x07 back\\x08"),
        ("del\x7f", "del\\x7f"),
        ("\ud800 lone", "\\ud800 lone"),
        ("👩\u200d👧 می\u200cخواهم", "👩\u200d👧 می\u200cخواهم"),
    ],
)
def test_what_a_terminal_would_obey_is_spelled_out(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(st.text(st.characters(), max_size=300), st.integers(1, 50))
def test_one_line_is_one_harmless_line_of_bounded_length(text: str, limit: int) -> None:
    line = one_line(text, limit=limit)
    assert len(line) <= limit
    assert safe(line) == line


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=100), st.sampled_from(["utf-8", "ascii", None]))
def test_json_is_the_same_value_whatever_the_terminal_can_show(text: str, encoding: str | None) -> None:
    printed = safe_json({"text": text}, encoding=encoding)
    assert json.loads(printed) == {"text": text}
    assert safe(printed) == printed
    if encoding != "utf-8":
        assert printed.isascii()


def test_a_huge_memory_does_not_flood_the_screen(cli: Cli) -> None:
    memory_id = cli.remember("word " * 30_000)
    assert len(cli("list").stdout) < 3_000
    shown = cli("get", memory_id).stdout
    assert len(shown) < 25_000 and "--json shows all" in shown


def test_short_ids_grow_until_they_differ() -> None:
    # Time-ordered ids of one moment begin alike; two may end alike too.
    one = "0190a1b2-c3d4-7abc-8def-0123456789ab"
    twin = "0190a1b2-c3d4-7abd-8def-ffff456789ab"
    assert ShortIds([one])(one) == "456789ab"
    both = ShortIds([one, twin])
    assert (both(one), both(twin)) == ("0123456789ab", "ffff456789ab")
    assert ShortIds([one, one])(one) == "456789ab"


RAW = "\x1b[31mred\u202e"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("export", f"{RAW}.jsonl"), 0),
        (("list", f"--no{RAW}"), 2),
        (("list", f"more{RAW}"), 2),
        ((f"--no{RAW}", "list"), 2),
        ((f"no-command{RAW}",), 2),
        (("token", f"no-command{RAW}"), 2),
        (("list", "--status", f"gone{RAW}"), 2),
        (("import", f"{RAW}.jsonl"), 1),
        (("get", f"id{RAW}"), 1),
    ],
)
def test_what_stands_in_a_command_line_is_spelled_out(
    cli: Cli, arguments: tuple[str, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may have put it there: a file name, an argument in a script (D6)."""
    cli("remember", "Tea is upstairs.")
    monkeypatch.chdir(tmp_path)
    done = cli(*arguments, code=code)
    assert not [char for char in done.output if char != "\n" and safe(char) != char]
    assert "red" in done.output
