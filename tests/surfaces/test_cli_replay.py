"""`wellkept replay` (issue 4.9): a policy tried on the past; the store keeps its own policy and its content."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept
from surfaces.command_line import Cli
from wellkept import _storage
from wellkept.policy import Policy

TEXT = "The office has a kitchen."
APPEND = '[kinds.lesson]\npreset = "append_only"\n'


@pytest.fixture
def past(cli: Cli) -> Cli:
    """A store with a repeat, and a policy that would have kept it."""
    for text in (TEXT, "the office has a kitchen"):
        cli("remember", text, "--kind", "lesson")
    cli("remember", "Use ruff for linting.")
    Path("new.toml").write_text(APPEND, "utf-8")
    return cli


def content(cli: Cli) -> tuple[object, ...]:
    with wellkept.open(str(cli.db), embedder="hashing") as store:
        return store.list(), store.journal(), store._ctx.storage.header()


def test_differences_are_told_with_their_reason_and_found_by_the_exit_code(past: Cli) -> None:
    before = content(past)
    shown = past("replay", "--policy", "new.toml", code=3).stdout
    assert "3 decisions replayed, 1 would differ" in shown
    line = next(line for line in shown.splitlines() if line.strip().startswith("2 "))
    assert [word in line for word in ("the office", "duplicate", "created", "keeps every record")] == [True] * 4
    assert content(past) == before


def test_the_policy_of_the_store_stays_what_it_was(past: Cli) -> None:
    """For other commands --policy is the policy in force, and the header names it; here it is only read."""
    past("replay", "--policy", "new.toml", code=3)
    with wellkept.open(str(past.db), embedder="hashing") as store:
        assert store._ctx.storage.header().policy == Policy().hash
    Path("wellkept.toml").write_text("conflict_days = 30\n", "utf-8")
    past("remember", "Use mypy.")
    past("replay", "--policy", "new.toml", code=3)
    storage = _storage(str(past.db))
    assert storage.header().policy == Policy.from_toml("conflict_days = 30\n").hash
    storage.close()


def test_json_is_the_whole_report(past: Cli) -> None:
    report = past.json("replay", "--policy", "new.toml", code=3)
    assert (report["decisions"], report["same"], report["complete"], report["mode"]) == (3, 2, True, "independent")
    [item] = report["differences"]
    assert (item["entry"], item["old"]["outcome"], item["new"]["outcome"]) == (2, "duplicate", "created")
    assert (item["cause"], item["old"]["text"], item["old"]["reasons"][0]["rule"]) == ("policy", TEXT, "canonical_hash")


def test_the_same_policy_finds_nothing(past: Cli) -> None:
    Path("same.toml").write_text("", "utf-8")
    assert "3 decisions replayed, none would differ" in past("replay", "--policy", "same.toml").stdout


def test_bounds_and_the_forward_mode(past: Cli) -> None:
    assert "Stopped at the limit; --after 1 continues" in past("replay", "--policy", "new.toml", "--limit", "1").stdout
    assert "1 decision replayed" in past("replay", "--policy", "new.toml", "--after", "2").stdout
    shown = past("replay", "--policy", "new.toml", "--forward", code=3).stdout
    assert "Active memories: 2 now, 3 under this policy" in shown


def test_what_could_not_be_replayed_is_shown(past: Cli) -> None:
    secret = past.remember("My PIN is 4711.", "--kind", "lesson")
    past("erase", secret, "--yes")
    shown = past("replay", "--policy", "new.toml", code=3).stdout
    assert "1 could not be replayed" in shown
    assert "its text was erased" in shown


def test_twenty_differences_are_shown_and_all_on_demand(cli: Cli) -> None:
    with wellkept.open(str(cli.db), embedder="hashing") as store:
        for _ in range(23):
            store.remember(TEXT, kind="lesson")
    Path("new.toml").write_text(APPEND, "utf-8")
    few, many = (cli("replay", "--policy", "new.toml", *more, code=3).stdout for more in ([], ["--all"]))
    assert (few.count("keeps every record"), many.count("keeps every record")) == (20, 22)
    assert "… and 2 more; --all shows them" in few


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("[kinds.lesson\n", "InvalidPolicy", "not TOML"),
        ('[kinds.lesson]\non_conflict = "shout"\n', "InvalidPolicy", "line 2"),
        (None, "ConfigError", "no such policy file"),
    ],
)
def test_a_policy_that_cannot_be_read_is_a_typed_error(past: Cli, text: str | None, kind: str, words: str) -> None:
    if text is not None:
        Path("bad.toml").write_text(text, "utf-8")
    error = past.json("replay", "--policy", "bad.toml", code=1)["error"]
    assert error["type"] == kind
    assert words in error["message"]


def test_without_a_policy_there_is_nothing_to_try(past: Cli) -> None:
    assert "name the policy to try" in past("replay", code=2).stderr


def test_a_store_that_is_not_there_is_not_made(cli: Cli) -> None:
    Path("new.toml").write_text(APPEND, "utf-8")
    assert "No decision was replayed" in cli("replay", "--policy", "new.toml").stdout
    assert not cli.file.exists()


def test_hostile_text_does_nothing_to_the_terminal(cli: Cli) -> None:
    for _ in range(2):
        cli("remember", "Sure \u202ename [bold]x[/bold].", "--kind", "lesson")
    Path("new.toml").write_text(APPEND, "utf-8")
    shown = cli("replay", "--policy", "new.toml", code=3).stdout
    assert "\u202e" not in shown
    assert "\\u202ename [bold]x[/bold]" in shown
