"""Files on the command line: nothing is destroyed, and errors about unreadable files name a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from surfaces.command_line import Cli

TEXT = "The timeout is 0.85 seconds."


def linked(cli: Cli, target: Path, how: str) -> str:
    """Another way to name a file."""
    link = cli.folder / "other"
    match how:
        case "relative":
            return target.name
        case "symlink":
            link.symlink_to(target)
            return str(link)
        case _:
            return str(target)


@pytest.mark.parametrize("how", ["as it is", "relative", "symlink"])
@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("made", [True, False])
@pytest.mark.file
def test_no_file_of_the_store_is_overwritten(cli: Cli, how: str, end: str, made: bool) -> None:  # noqa: FBT001
    """Not by an export, forced or not, not by rejects, and not where the store is yet to be made."""
    if made:
        cli("remember", TEXT)
    Path("in.jsonl").write_text('{"text": "Tea is upstairs."}\n{not json\n', encoding="utf-8")
    target = linked(cli, Path(f"{cli.file}{end}"), how)
    before = sorted(item.name for item in cli.folder.iterdir())
    for arguments in (["export", target], ["export", target, "--force"], ["import", "in.jsonl", "--rejects", target]):
        error = cli.json(*arguments, code=1)["error"]
        assert (error["type"], "part of a store" in error["what"]) == ("StorePathError", True)
        assert "--force" not in error["message"]
    assert sorted(item.name for item in cli.folder.iterdir()) == before
    assert [row["content"] for row in cli.rows("list")] == ([TEXT] if made else [])


def test_rejects_overwrite_neither_the_source_nor_a_file_of_the_user(cli: Cli) -> None:
    Path("in.jsonl").write_text('{"text": "Tea is upstairs."}\n{not json\n', encoding="utf-8")
    Path("notes.txt").write_text("mine", encoding="utf-8")
    for name in ("in.jsonl", "notes.txt"):
        before = Path(name).read_bytes()
        assert "--rejects OTHER" in cli("import", "in.jsonl", "--rejects", name, code=1).stderr
        assert Path(name).read_bytes() == before
    assert cli.rows("list") == []
    for _ in range(2):  # rejects of an earlier run are replaced
        cli("import", "in.jsonl", "--rejects", "bad.jsonl", code=3)
    assert len(Path("bad.jsonl").read_text("utf-8").splitlines()) == 1


@pytest.mark.parametrize("folder", [".", "..", "/"])
def test_a_folder_is_not_imported(cli: Cli, folder: str) -> None:
    assert cli.json("import", folder, code=1)["error"]["type"] == "StorePathError"


@pytest.mark.parametrize("query", ["", " \t"])
def test_an_empty_question_is_told_to_ask(cli: Cli, query: str) -> None:
    error = cli.json("recall", query, code=1)["error"]
    assert (error["type"], error["todo"]) == ("EmptyContent", "Ask something")


@pytest.mark.parametrize("command", ["remember", "check", "recall"])
@pytest.mark.parametrize("text", ["-5 degrees", "--5 degrees is too cold", "-", "–5 degrees"])
def test_a_text_that_begins_with_a_dash_is_taken_behind_two(cli: Cli, command: str, text: str) -> None:
    if text.startswith("-") and len(text) > 1:
        shown = " ".join(cli(command, text, code=2).stderr.replace("│", " ").split())
        assert "Put -- before a text that begins with a dash" in shown
    cli(command, "--", text, stdin="From a pipe.")


@pytest.mark.parametrize("arguments", [["remember", TEXT, "--tagg", "x"], ["stats", "-5"], ["remember", TEXT, "--tag"]])
def test_a_misspelled_option_is_not_taken_for_a_text(cli: Cli, arguments: list[str]) -> None:
    assert "Put --" not in cli(*arguments, code=2).stderr


@pytest.mark.parametrize("command", ["import", "remember-many"])
@pytest.mark.parametrize(
    ("data", "hint"),
    [
        ('{"content": "Use ruff"}\n'.encode("utf-16"), "UTF-16. Convert it to UTF-8"),
        (b'[\n{"content": "Use ruff",\n', "JSON array. Write one object a line"),
    ],
)
def test_a_file_of_another_form_is_told_as_such(cli: Cli, command: str, data: bytes, hint: str) -> None:
    Path("in.jsonl").write_bytes(data)
    assert hint in cli.json(command, "in.jsonl", code=3)["errors"][0]["message"]
