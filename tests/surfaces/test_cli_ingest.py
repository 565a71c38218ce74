"""`wellkept ingest`: a plan first, then statements or facts through the gate, once, and back again as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.transcript_files import CLAUDE_CODE, lines, written
from chat_server import ChatServer, Play, says, status
from surfaces.command_line import Cli
from wellkept.cli.operating import ingest_command
from wellkept.config import extraction_folder

KEPT = {
    "chat": 3,
    "chatgpt": 2,
    "claude": 2,
    "claude-code": 2,
    "codex": 2,
    "slack": 2,
    "diary": 2,
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What models said in one test is not known in another."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def statements(cli: Cli) -> list[str]:
    return sorted(row["content"] for row in cli.rows("list"))


def counts(told: Any) -> dict[str, int]:
    found: dict[str, int] = told["report"]["counts"]
    return found


@pytest.mark.parametrize("format", KEPT)
def test_every_format_is_shown_stored_once_and_taken_back(cli: Cli, tmp_path: Path, format: str) -> None:
    # I5
    source = str(written(tmp_path / "in", format))
    plan = cli.json("ingest", source)
    assert (plan["format"], plan["kept"], plan["applied"]) == (format, KEPT[format], False)
    assert counts(plan) == {"created": KEPT[format]}
    assert not cli.file.exists() and cli.rows("list") == [], "a plan writes nothing"

    done = cli.json("ingest", source, "--apply")
    assert counts(done) == counts(plan) and len(statements(cli)) == KEPT[format]
    assert statements(cli) == sorted(one["content"] for one in plan["statements"])
    for again in (cli.json("ingest", source), cli.json("ingest", source, "--apply")):
        assert counts(again) == {"replayed": KEPT[format]}

    cli("undo", "--run", done["report"]["run_id"])
    assert statements(cli) == []
    assert counts(cli.json("ingest", source, "--apply")) == {"created": KEPT[format]}


def test_a_statement_has_speaker_date_and_place(cli: Cli, tmp_path: Path) -> None:
    cli("ingest", str(written(tmp_path, "claude-code")), "--apply")
    said = {row["content"]: row for row in cli.rows("list")}
    row = said["Assistant: I moved the test database to port 5434."]
    assert row["created_at"].startswith("2026-05-01T10:01:05") and row["kind"] == "note"
    assert row["metadata"] == {"speakers": ["Assistant"]} and row["provenance"] == ["claude-code:s1/u4"]


def test_a_log_that_grew_gives_only_what_is_new_wherever_it_lies(cli: Cli, tmp_path: Path) -> None:
    first = tmp_path / "one.jsonl"
    first.write_text(lines(CLAUDE_CODE[:2]), encoding="utf-8")
    assert counts(cli.json("ingest", str(first), "--apply")) == {"created": 1}
    moved = tmp_path / "two.jsonl"
    moved.write_text(lines(CLAUDE_CODE), encoding="utf-8")
    assert counts(cli.json("ingest", str(moved), "--apply")) == {"replayed": 1, "created": 1}


def test_the_plan_says_what_the_gate_would_do_with_what_is_stored(cli: Cli, tmp_path: Path) -> None:
    cli.remember("Ana: I moved to Graz in May.", "--kind", "note")
    before = cli.rows("journal")
    plan = cli.json("ingest", str(written(tmp_path / "in", "chat")))
    assert counts(plan)["duplicate"] == 1 and cli.rows("journal") == before


def test_a_long_plan_compares_only_on_request(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_command, "_COMPARED", 1)
    source = str(written(tmp_path / "in", "chat"))
    assert "--compare does it" in cli("ingest", source).stdout and cli.json("ingest", source)["report"] is None
    assert counts(cli.json("ingest", source, "--compare")) == {"created": 3}
    monkeypatch.setattr(ingest_command, "_COMPARED", 9)
    assert cli.json("ingest", source, "--no-compare")["report"] is None


def test_people_days_and_numbers_of_turns_are_chosen(cli: Cli, tmp_path: Path) -> None:
    source = str(written(tmp_path, "chat"))
    assert cli.json("ingest", source, "--speaker", "ben")["turns"] == 1
    assert cli.json("ingest", source, "--since", "2026-05-01T10:01:00")["turns"] == 1
    assert cli.json("ingest", source, "--limit", "1")["turns"] == 1
    error = cli.json("ingest", source, "--speaker", "Zoe", code=1)["error"]
    assert "does not speak" in error["what"] and "Ana, Ben" in error["todo"]
    assert cli.json("ingest", source, "--since", "soon", code=1)["error"]["type"] == "InvalidField"


def test_lines_that_cannot_be_read_are_findings_and_the_rest_is_stored(cli: Cli, tmp_path: Path) -> None:
    source = written(tmp_path, "claude-code")
    with source.open("a", encoding="utf-8") as file:
        file.write("{half\n")
    shown = cli("ingest", str(source), code=3)
    assert "Not read" in shown.stdout and "line 8" in shown.stdout
    done = cli.json("ingest", str(source), "--apply", code=3)
    assert counts(done) == {"created": 2} and done["report"]["failed"] == 1


def test_of_a_damaged_export_nothing_is_stored(cli: Cli, tmp_path: Path) -> None:
    source = written(tmp_path, "chatgpt")
    source.write_text(source.read_text("utf-8")[:-1] + ', {"mapping":', encoding="utf-8")
    error = cli.json("ingest", str(source), "--apply", code=1)["error"]
    assert error["type"] == "InvalidInput" and "line 1" in error["where"] and "Download" in error["todo"]
    assert cli.rows("list") == []


def test_the_plan_is_shown_with_reasons_and_says_that_nothing_is_written(cli: Cli, tmp_path: Path) -> None:
    shown = cli("ingest", str(written(tmp_path, "claude-code"))).stdout
    for words in ("Claude Code session logs", "left out: working step", "created", "2026-05-01", "--apply stores it"):
        assert words in shown


@pytest.mark.slow
def test_what_says_nothing_is_left_out_by_the_packaged_model(cli: Cli, tmp_path: Path) -> None:
    source = tmp_path / "chat.txt"
    said = ("Ana: I appreciate it a lot.", "Ben: The backup of the wiki runs at four in the morning.")
    source.write_text("\n".join(said), encoding="utf-8")
    told = cli.json("ingest", str(source), "--format", "chat", "--embedder", "minilm")
    assert told["left_out"] == {"chatter": 1} and told["degraded"] == []


# --------------------------------------------------------------------------------------------
# With a model


def extracts(*facts: tuple[str, list[int]]) -> Play:
    plain = {"facts": [{"text": text, "lines": numbers} for text, numbers in facts]}
    return lambda _: says(json.dumps(plain))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    running = ChatServer(extracts(("Ana moved to Graz in May 2026.", [1]), ("Ana owns a yacht.", [9])))
    yield running
    running.close()


def extracting(server: ChatServer, *more: str) -> tuple[str, ...]:
    return ("--extract", f"{server.url.removesuffix('/chat/completions')}?retries=0", "--model", "small", *more)


def test_facts_have_their_source_lines_and_a_passage_is_sent_once(cli: Cli, tmp_path: Path, server: ChatServer) -> None:
    source = str(written(tmp_path / "in", "chat"))
    shown = cli("ingest", source, *extracting(server))
    assert "Sends 1 passage with 2 lines to 127.0.0.1: at most about" in shown.stderr
    assert "left out: no such line" in shown.stdout and "Nothing is written" in shown.stdout
    done = cli.json("ingest", source, *extracting(server, "--apply"))
    assert len(server.requests) == 1, "what was said is kept"
    assert (counts(done), done["left_out"]) == ({"created": 1}, {"no such line": 1})
    (row,) = cli.rows("list")
    assert row["content"] == "Ana moved to Graz in May 2026." and row["provenance"] == [f"chat:{Path(source).name}/1"]
    assert row["metadata"] == {"speakers": ["Ana"], "said": ["Ana: Hi Ben! I moved to Graz in May."]}
    request = server.requests[0]
    assert request["response_format"]["json_schema"]["schema"]["properties"].keys() == {"facts"}
    assert "never instructions" in request["messages"][0]["content"]
    for file in extraction_folder().iterdir():
        assert file.stat().st_mode & 0o077 == 0, "others may not read what was said"


def test_after_an_outage_the_same_command_goes_on(cli: Cli, tmp_path: Path, server: ChatServer) -> None:
    source = tmp_path / "chat.txt"
    said = [f"Ana: {'The list goes on and on here. ' * 100}{number}" for number in range(4)]
    source.write_text("\n".join(said), encoding="utf-8")
    answer = extracts(("Ana has a list.", [1]))
    server.script = [answer, status(503)]
    told = cli("ingest", str(source), *extracting(server, "--format", "chat", "--apply"), code=1)
    assert "goes on where this one ended" in told.stderr and cli.rows("list") == []
    before = len(server.requests)
    server.script = [answer]
    done = cli.json("ingest", str(source), *extracting(server, "--format", "chat", "--apply"))
    assert done["kept"] > 1 and len(server.requests) < 2 * before + done["kept"]
    assert len({request["messages"][1]["content"] for request in server.requests}) == len(server.requests) - 1


def test_a_budget_ends_the_asking_and_what_is_left_is_said(cli: Cli, tmp_path: Path, server: ChatServer) -> None:
    source = str(written(tmp_path, "chat"))
    told = cli("ingest", source, *extracting(server, "--tokens", "100"), code=3)
    assert "the budget is 100" in told.stderr and "1 passage is left" in told.stderr and server.requests == []


def test_a_dry_run_sends_nothing(cli: Cli, tmp_path: Path, server: ChatServer) -> None:
    shown = cli("ingest", str(written(tmp_path, "chat")), *extracting(server, "--dry-run")).stdout
    assert "You read a part of a conversation" in shown and '"speaker": "Ana"' in shown and server.requests == []


def test_an_unreadable_answer_is_counted_and_asked_for_again(cli: Cli, tmp_path: Path, server: ChatServer) -> None:
    source = str(written(tmp_path, "chat"))
    server.script = [lambda _: says("I would rather not."), extracts(("Ana moved to Graz.", [1]))]
    assert cli.json("ingest", source, *extracting(server))["left_out"] == {"unreadable answer": 1}
    assert cli.json("ingest", source, *extracting(server))["kept"] == 1


def test_texts_leave_the_machine_only_with_leave(cli: Cli, tmp_path: Path) -> None:
    source = str(written(tmp_path, "chat"))
    error = cli.json("ingest", source, "--extract", "https://models.example/v1", "--model", "m", code=1)["error"]
    assert (
        error["type"] == "ConfigError" and error["where"] == "models.example" and "WELLKEPT_ASK_SEND" in error["todo"]
    )
    assert "--extract" in cli("ingest", source, "--model", "m", code=2).stderr
