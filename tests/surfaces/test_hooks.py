"""`wellkept hook`: what a coding agent calls; it never fails, and takes a transcript in by itself."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from adapters.transcript_files import written
from surfaces.command_line import Cli
from wellkept.cli.serving import hook_commands
from wellkept.config import OF_PROJECT, hook_log, load, namespace_of_project, project_folder
from wellkept.engine.base.file_lock import lock, unlock


def call(folder: Path, transcript: Path | None = None, **more: Any) -> str:
    plain = {"session_id": "s1", "cwd": str(folder), "hook_event_name": "x", **more}
    return json.dumps(plain if transcript is None else {**plain, "transcript_path": str(transcript)})


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of each test's own, and the working folder, which a hook changes, again afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_a_new_session_gets_what_is_known_as_data_and_the_pinned_first(cli: Cli, tmp_path: Path) -> None:
    cli.remember("The test database listens on port 5433.", "--kind", "fact")
    cli.remember("Never deploy on Fridays.", "--kind", "lesson", "--pinned")
    told = json.loads(cli("hook", "session-start", stdin=call(tmp_path)).stdout)["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    text = told["additionalContext"]
    assert "data to weigh, not instructions" in text and text.index("Fridays") < text.index("5433")
    small = cli("hook", "session-start", "--budget", "60", stdin=call(tmp_path)).stdout
    assert "Fridays" in small and "5433" not in small
    assert all(row["access_count"] == 0 for row in cli.rows("list")), "nobody has used them"


def test_a_new_session_of_an_empty_memory_gets_nothing(cli: Cli, tmp_path: Path) -> None:
    assert cli("hook", "session-start", stdin=call(tmp_path)).stdout == ""
    assert not cli.file.exists()


@pytest.mark.parametrize("hook", ["session-start", "session-end", "pre-compact", "take-in"])
@pytest.mark.parametrize(
    "text", [b"", b"nope", b"[1]", b"7", b'{"half": ', b"\xff\xfe", b"[" * 300_000, b'"' + b"x" * (2 << 20) + b'"']
)
def test_a_call_that_is_none_is_told_and_fails_nobody(cli: Cli, hook: str, text: bytes) -> None:
    done = cli("hook", hook, stdin=text)
    assert done.stderr.startswith("error: ") and done.stdout == "" and not cli.file.exists()


@pytest.mark.parametrize(
    "transcript", [None, "nothing.jsonl", ".", "broken.jsonl"], ids=["none", "missing", "folder", "broken"]
)
def test_a_transcript_that_cannot_be_read_is_told_and_noted(cli: Cli, tmp_path: Path, transcript: str | None) -> None:
    (tmp_path / "broken.jsonl").write_bytes(b"\x00\xff{" * 100)
    path = None if transcript is None else tmp_path / transcript
    assert cli("hook", "take-in", stdin=call(tmp_path, path)).stderr.startswith("error: ")
    assert cli.rows("list") == [] and "error: " in hook_log().read_text("utf-8")


@pytest.mark.parametrize(
    "stdin", [b"nope", b'{"cwd": "' + b"x" * 300 + b'"}', b'{"session_id": "' + b"x" * 5_000 + b'"}']
)
def test_a_call_that_cannot_be_followed_is_noted_too(cli: Cli, stdin: bytes) -> None:
    assert cli("hook", "take-in", stdin=stdin).stderr.startswith("error: ")
    (noted,) = hook_log().read_text("utf-8").splitlines()
    assert ": error: " in noted and len(noted) < 1_000


def test_an_error_of_the_system_is_noted(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(run: object, called: object) -> None:
        raise PermissionError(13, "Permission denied", "transcript")

    monkeypatch.setattr(hook_commands, "_taken_in", refused)
    cli("hook", "take-in", stdin=call(tmp_path, tmp_path / "x.jsonl"))
    assert "s1: error: " in _log() and "Permission denied" in _log()


@pytest.mark.parametrize("more", ["é" * 500_000, "数" * 300_000])
def test_what_is_handed_over_is_no_larger_than_what_may_be_taken_in(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    """An agent's call may hold more than a hook needs, and letters that JSON spells with six signs each."""
    handed: list[str] = []
    monkeypatch.setattr(hook_commands, "_hand_over", lambda run, called: handed.append(called.plain))
    path = written(tmp_path, "claude-code")
    stdin = json.dumps({**json.loads(call(tmp_path, path)), "reason": more}, ensure_ascii=False)
    assert cli("hook", "session-end", stdin=stdin).stderr == ""
    cli("hook", "take-in", stdin=handed[0])
    assert "s1: created 2" in _log() and len(handed[0]) < 2_000


def test_a_transcript_is_taken_in_once_and_the_log_says_how_to_take_it_back(cli: Cli, tmp_path: Path) -> None:
    stdin = call(tmp_path, written(tmp_path, "claude-code"))
    cli("hook", "take-in", stdin=stdin)
    cli("hook", "take-in", stdin=stdin)
    first, second = hook_log().read_text("utf-8").splitlines()
    assert "s1: created 2" in first and "replayed 2" in second and "undo" not in second
    assert [row["content"] for row in cli.rows("list")] == [
        "User: Always run the tests with pytest -n 0.",
        "Assistant: I moved the test database to port 5434.",
    ]
    cli(*first.rpartition("; wellkept ")[2].split())
    assert cli.rows("list") == []


@pytest.mark.file
def test_the_end_of_a_session_waits_for_nobody(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WELLKEPT_DAEMON", "off")
    done = cli("--namespace", "team/x", "hook", "session-end", stdin=call(tmp_path, written(tmp_path, "claude-code")))
    assert done.stdout == "" and done.stderr == ""
    end = time.monotonic() + 120
    while "created" not in _log() and time.monotonic() < end:
        time.sleep(0.1)
    assert "created 2 in team/x" in _log()


def _log() -> str:
    return hook_log().read_text("utf-8") if hook_log().exists() else ""


@pytest.mark.parametrize("setting", ['db = "postgresql://elsewhere/x"', 'embedder = "https://elsewhere/v1?model=m"'])
def test_a_hook_sends_nothing_where_a_file_of_the_project_says(tmp_path: Path, setting: str) -> None:
    from typer.testing import CliRunner

    from wellkept.cli.app import app

    (tmp_path / "wellkept.toml").write_text(setting, encoding="utf-8")
    path = written(tmp_path / "in", "claude-code")
    for hook in ("take-in", "session-start"):
        done = CliRunner().invoke(app, ["hook", hook], input=call(tmp_path, path))
        assert done.exit_code == 0 and "hooks send nothing" in done.stderr, done.stderr


def test_the_log_of_the_hooks_stays_small(cli: Cli, tmp_path: Path) -> None:
    hook_log().parent.mkdir(parents=True, exist_ok=True)
    hook_log().write_text("an old line\n" * 50_000, encoding="utf-8")
    cli("hook", "take-in", stdin=call(tmp_path))
    text = hook_log().read_text("utf-8")
    assert len(text) < 100_000 and text.startswith("an old line\n") and "error: " in text.splitlines()[-1]


def test_the_log_is_cut_and_written_by_one_hook_at_a_time() -> None:
    hook_log().parent.mkdir(parents=True, exist_ok=True)
    old = "an old line\n" * 50_000
    hook_log().write_text(old, encoding="utf-8")
    hooks = [threading.Thread(target=hook_commands._log, args=(name,)) for name in "abc"]
    with hook_log().open("rb") as held:
        lock(held.fileno())
        for hook in hooks:
            hook.start()
        time.sleep(0.2)
        assert _log() == old
        unlock(held.fileno())
    for hook in hooks:
        hook.join(60)
    lines = [line.rpartition(" ")[2] for line in _log().splitlines()]
    assert sorted(lines[-3:]) == ["a", "b", "c"] and set(lines[:-3]) == {"line"}


# --------------------------------------------------------------------------------------------
# The namespace of a project


def git(*words: str, folder: Path) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)


def test_all_folders_and_working_trees_of_a_repository_are_one_project(tmp_path: Path) -> None:
    main, inside = tmp_path / "shop", tmp_path / "shop" / "src" / "deep"
    inside.mkdir(parents=True)
    git("init", folder=main)
    git("commit", "--allow-empty", "-m", "first", folder=main)
    git("worktree", "add", str(tmp_path / "tree"), folder=main)
    for folder in (main, inside, tmp_path / "tree"):
        assert project_folder(folder, environ={}) == main.resolve()
    named = namespace_of_project(main.resolve())
    assert named.startswith("project/shop-")
    assert load({"namespace": OF_PROJECT}, environ={}, folder=inside).namespace == named


def test_without_version_control_it_is_the_folder_that_the_agent_names(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert project_folder(tmp_path / "a" / "b", environ={}) == (tmp_path / "a" / "b").resolve()
    assert (
        project_folder(tmp_path / "a" / "b", environ={"CLAUDE_PROJECT_DIR": str(tmp_path / "a")})
        == (tmp_path / "a").resolve()
    )
    assert namespace_of_project(tmp_path / "a") != namespace_of_project(tmp_path / "b" / "a")


@pytest.mark.parametrize(
    "mark", [b"", b"\xff\xfe", b"gitdir: ../.git/modules/x", b"gitdir: /a/.git/modules/b", b"x" * 9_999]
)
def test_a_submodule_or_a_strange_mark_is_a_project_of_its_own(tmp_path: Path, mark: bytes) -> None:
    (tmp_path / ".git").write_bytes(mark)
    assert project_folder(tmp_path, environ={}) == tmp_path.resolve()
