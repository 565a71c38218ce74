"""`wellkept reflect` and `wellkept decay`: shown first, done when asked, taken back (S2-48, D1, D2, S1-52)."""

from __future__ import annotations

import json

import pytest

from chat_server import ChatServer, says
from surfaces.command_line import Cli

FIRST, SECOND = "The nightly deploy failed again.", "The nightly deploy failed again on Friday."


def fill(cli: Cli) -> list[str]:
    more = ("--kind", "episodic", "--on-conflict", "ignore")
    return [cli.remember(text, *more) for text in (FIRST, SECOND)]


def test_reflect_shows_the_summary_and_changes_nothing(cli: Cli) -> None:
    fill(cli)
    shown = cli("reflect").stdout
    assert "dry run" in shown and f"    {FIRST}\n    {SECOND}\n" in shown and "--execute applies it" in shown
    assert len(cli.rows("list")) == 2


def test_reflect_executes_once_and_is_taken_back(cli: Cli) -> None:
    ids = fill(cli)
    done = cli.json("reflect", "--execute")
    assert (done["mode"], done["executed"], done["planned"]["summarize"], done["degraded"]) == (
        "execute", 1, 1, ["lexical"],
    )  # fmt: skip
    assert done["actions"][0]["state"] == "executed" and done["actions"][0]["summary"]["provenance"] == ids
    assert [row["tags"] for row in cli.rows("list")] == [["reflection", "level:1"]]
    assert cli.json("reflect", "--execute")["actions"] == []
    cli("undo", "--run", done["run_id"])
    assert [row["id"] for row in cli.rows("list")] == ids


@pytest.mark.parametrize(("how", "left"), [("hard", 1), ("keep", 3)])
def test_what_becomes_of_the_sources_is_chosen(cli: Cli, how: str, left: int) -> None:
    fill(cli)
    assert cli.json("reflect", "--consolidate", how, "--execute")["consolidate"] == how
    assert len(cli.rows("list")) == left


def test_kind_and_size_choose_what_is_summed_up(cli: Cli) -> None:
    fill(cli)
    assert cli.json("reflect", "--kind", "note")["actions"] == []
    assert cli.json("reflect", "--min-size", "3")["actions"] == []
    cli("reflect", "--kind", "rumour", code=1)
    cli("reflect", "--consolidate", "erase", code=2)


def test_a_plan_is_written_and_applied_later(cli: Cli) -> None:
    fill(cli)
    shown = cli("reflect", "--plan", "plan.json").stdout
    assert "wellkept apply plan.json" in shown
    assert cli.json("apply", "plan.json")["executed"] == 1
    cli("reflect", "--plan", str(cli.db), code=1)


def test_hostile_text_is_made_safe(cli: Cli) -> None:
    for text in ("The deploy failed \x1b[31mtwice.", "The deploy failed \x1b[31mtwice. Again."):
        cli("remember", text.replace("\x1b", "\u202e"), "--kind", "episodic", "--on-conflict", "ignore")
    shown = cli("reflect").stdout
    assert "\u202e" not in shown and "\\u202e" in shown


def test_a_chat_endpoint_writes_the_summary(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("WELLKEPT_SUMMARISER_KEY", "sk-secret-123")
    fill(cli)
    server = ChatServer(lambda _: says(json.dumps({"summary": "The nightly deploy fails."})))
    try:
        told = cli.json("reflect", "--summariser", f"{server.url}?model=m")
        server.script = [lambda _: says("no")]
        shown = cli("reflect", "--summariser", f"{server.url}?model=m")
    finally:
        server.close()
    assert told["actions"][0]["summary"]["content"] == "The nightly deploy fails."
    assert server.headers[0]["authorization"] == "Bearer sk-secret-123"
    assert "was not taken" in shown.stdout and "degraded" in shown.stdout and FIRST in shown.stdout
    assert "sk-secret-123" not in shown.stdout + shown.stderr


def test_decay_counts_stages_and_names_what_would_go(cli: Cli) -> None:
    cli.remember("Tea is upstairs.", "--kind", "note", "--expires", "2020-01-01")
    cli.remember("Canals are for freight.", "--kind", "lesson")
    shown = cli("decay").stdout
    lines = [line.split() for line in shown.splitlines()]
    assert ["lesson", "1", "0", "0"] in lines and ["note", "1", "0", "0"] in lines
    assert "it has expired" in shown and "Tea is upstairs." in shown
    told = cli.json("decay")
    assert told["kinds"][0] == {"kind": "lesson", "active": 1, "weak": 0, "dormant": 0}
    assert (told["mode"], told["planned"]["archive"], told["transitions"]) == ("dry_run", 1, [])
    assert len(cli.rows("list")) == 2


def test_decay_archives_when_asked_and_restore_brings_back(cli: Cli) -> None:
    kept = cli.remember("Tea is upstairs.", "--kind", "note", "--expires", "2020-01-01")
    assert cli.json("decay", "--execute")["executed"] == 1
    assert cli.rows("list") == [] and cli.json("get", kept)["status"] == "archived"
    cli("restore", kept)
    assert [row["id"] for row in cli.rows("list")] == [kept]


def test_times_to_live_are_asked_for(cli: Cli) -> None:
    cli.remember("Tea is upstairs.", "--kind", "temp_note")
    assert cli.json("decay", "--ttl", "host")["actions"] == []
    assert len(cli.json("decay", "--ttl", "host", "--ttl", "temp_note=0.0000001")["actions"]) == 1
    assert cli.json("decay", "--ttl", "temp_note=never")["actions"] == []


@pytest.mark.parametrize(
    ("ttl", "code"), [("temp_note", 2), ("temp_note=soon", 2), ("=3", 2), ("temp_note=-1", 1), ("rumour=3", 1)]
)
def test_a_time_to_live_that_is_none_is_refused(cli: Cli, ttl: str, code: int) -> None:
    cli.remember("Tea is upstairs.")
    cli("decay", "--ttl", ttl, code=code)


@pytest.mark.parametrize("command", ["reflect", "decay"])
def test_the_kill_switch_forces_a_dry_run(cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """S1-52."""
    fill(cli)
    cli.remember("Tea is upstairs.", "--kind", "note", "--expires", "2020-01-01")
    monkeypatch.setenv("WELLKEPT_CONSOLIDATE_DRY_RUN", "1")
    told = cli.json(command, "--execute", code=3)
    assert told["mode"] == "dry_run" and "environment" in told["forced"]
    assert len(cli.rows("list")) == 3


@pytest.mark.parametrize("command", ["reflect", "decay"])
def test_nothing_is_made_by_looking(cli: Cli, command: str) -> None:
    assert "Nothing to do" in cli(command).stdout and not cli.file.exists()
