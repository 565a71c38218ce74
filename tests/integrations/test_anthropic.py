"""Files of Claude's memory tool are memories: each edit goes through the gate and can be undone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError

import wellkept
from stores import EACH_BACKEND, Desk, desk, scratch
from wellkept.errors import InvalidField
from wellkept.integrations.anthropic import AsyncWellkeptMemoryTool, WellkeptMemoryTool
from wellkept.integrations.memory_folder import MemoryFolder, checked


@pytest.fixture(params=EACH_BACKEND)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return desk(request.param, tmp_path)


@pytest.fixture
def folder(table: Desk) -> MemoryFolder:
    return MemoryFolder(table.store)


@pytest.fixture
def minilm(tmp_path: Path) -> Iterator[MemoryFolder]:
    """A folder whose decisions are those of the packaged models."""
    with wellkept.open(scratch(tmp_path)) as memories:
        yield MemoryFolder(memories)


def create(folder: MemoryFolder, path: str, text: str) -> str:
    return folder.run({"command": "create", "path": f"/memories/{path}", "file_text": text})


def test_an_edit_that_is_refused_leaves_the_file(minilm: MemoryFolder) -> None:
    create(minilm, "a.md", "All tests are written with pytest.")
    create(minilm, "b.md", "Use pytest for all tests.")
    before = minilm.files()
    for path in before:
        with pytest.raises(wellkept.WellkeptError):
            minilm.run({"command": "insert", "path": path, "insert_line": 0, "insert_text": "x" * 240_000})
    assert minilm.files() == before


@pytest.mark.parametrize("text", ["Tea is upstairs.", "", " \n", "ok", "one\r\ntwo\n\n", "名前: 値"])
def test_a_file_holds_what_was_written(folder: MemoryFolder, text: str) -> None:
    create(folder, "a/b.md", text)
    assert folder.files() == {"/memories/a/b.md": text}
    folder.run({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/c/d"})
    assert folder.files() == {"/memories/c/d/b.md": text}
    folder.run({"command": "delete", "path": "/memories/c"})
    assert folder.files() == {}
    folder.memories.undo(folder.memories.journal(newest=1)[0].seq)
    assert folder.files() == {"/memories/c/d/b.md": text}


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ({"command": "str_replace", "old_str": "two", "new_str": "2"}, "one\n2\nthree"),
        ({"command": "str_replace", "old_str": "two\n"}, "one\nthree"),
        ({"command": "insert", "insert_line": 0, "insert_text": "zero\n"}, "zero\none\ntwo\nthree\n"),
        ({"command": "insert", "insert_line": 3, "insert_text": "four"}, "one\ntwo\nthree\nfour\n"),
    ],
)
def test_an_edit_is_a_revision_that_can_be_undone(folder: MemoryFolder, command: dict[str, Any], text: str) -> None:
    create(folder, "n.md", "one\ntwo\nthree")
    folder.run({**command, "path": "/memories/n.md"})
    assert folder.files() == {"/memories/n.md": text}
    entry = folder.memories.journal(newest=1)[0]
    assert entry.verb == "revise"
    folder.memories.undo(entry.seq)
    assert folder.files() == {"/memories/n.md": "one\ntwo\nthree"}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ({"command": "mkdir", "path": "/memories/x"}, "Unknown command: mkdir"),
        ({"command": "view"}, "view cannot be run"),
        ({"command": "view", "path": 3}, "'3' is no path"),
        ({"command": "view", "path": "/etc/passwd"}, "Path must start with /memories"),
        ({"command": "view", "path": "/memories/../etc"}, "would escape"),
        ({"command": "view", "path": "/memories/none"}, "does not exist"),
        ({"command": "view", "path": "/memories/n.md", "view_range": [2, 1]}, "Invalid `view_range`"),
        ({"command": "view", "path": "/memories/n.md", "view_range": "all"}, "Invalid `view_range`"),
        ({"command": "create", "path": "/memories/n.md", "file_text": "x"}, "already exists"),
        ({"command": "create", "path": "/memories/n.md/x", "file_text": "x"}, "is not a directory"),
        ({"command": "create", "path": "/memories", "file_text": "x"}, "already exists"),
        ({"command": "create", "path": "/memories/y", "file_text": 3}, "must be a text"),
        ({"command": "str_replace", "path": "/memories/n.md", "old_str": "none"}, "did not appear"),
        ({"command": "str_replace", "path": "/memories/n.md", "old_str": ""}, "did not appear"),
        ({"command": "str_replace", "path": "/memories/n.md", "old_str": "o"}, "in lines: 1, 2"),
        ({"command": "str_replace", "path": "/memories/d", "old_str": "o"}, "is not a file"),
        ({"command": "insert", "path": "/memories/n.md", "insert_line": 4, "insert_text": "x"}, r"\[0, 3\]"),
        ({"command": "delete", "path": "/memories"}, "Cannot delete"),
        ({"command": "delete", "path": "/memories/none"}, "does not exist"),
        ({"command": "rename", "old_path": "/memories", "new_path": "/memories/x"}, "Cannot rename"),
        ({"command": "rename", "old_path": "/memories/n.md", "new_path": "/memories/d"}, "already exists"),
        ({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/e"}, "already exists"),
        ({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/n.md/e"}, "not a directory"),
    ],
)
def test_a_command_that_cannot_be_run_says_why_and_changes_nothing(
    folder: MemoryFolder, command: dict[str, Any], said: str
) -> None:
    create(folder, "n.md", "one\ntwo\nthree")
    create(folder, "d/e.md", "Tea is upstairs.")
    before = folder.memories.journal()
    with pytest.raises(InvalidField, match=said):
        folder.run(command)
    assert folder.memories.journal() == before


def test_a_folder_is_listed_two_levels_deep_with_other_memories_by_their_kind(folder: MemoryFolder) -> None:
    create(folder, "a/b/c.md", "x" * 1536)
    create(folder, ".hidden", "Tea is upstairs.")
    row = folder.memories.remember("Cups are downstairs.", kind="fact").memory
    assert row is not None
    other = f"/memories/fact/{row.id[-8:]}.md"
    listed = folder.run({"command": "view", "path": "/memories/"}).splitlines()[1:]
    assert listed == [
        "1.5K\t/memories",
        "1.5K\t/memories/a/",
        "1.5K\t/memories/a/b/",
        "20B\t/memories/fact/",
        f"20B\t{other}",
    ]
    folder.run({"command": "str_replace", "path": other, "old_str": "down", "new_str": "up"})
    assert folder.memories.get(row.id).content == "Cups are upstairs."
    assert "     2\tb" in (create(folder, "z", "a\nb\nc"), folder.view("/memories/z", [2, -1]))[1]


def test_the_model_is_told_what_the_gate_found(minilm: MemoryFolder) -> None:
    create(minilm, "port.md", "The staging server listens on port 8080.")
    assert create(minilm, "b.md", "The staging server listens on port 9090.").endswith(
        "\nNote: Possible contradiction: compare /memories/port.md."
    )
    create(minilm, "tests.md", "For all tests, use pytest.")
    assert "The same is said in /memories/tests.md." in create(minilm, "c.md", "Use pytest for all tests.")
    assert minilm.files()["/memories/c.md"] == "Use pytest for all tests."


def test_the_tool_tells_the_model_of_an_error(table: Desk) -> None:
    tool = WellkeptMemoryTool(table.store, cache_control={"type": "ephemeral"})
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    made = tool.call({"command": "create", "path": "/memories/a", "file_text": "Tea is upstairs."})
    assert made == "File created successfully at: /memories/a"
    later = AsyncWellkeptMemoryTool(table.store)
    assert "Tea is upstairs." in str(asyncio.run(later.call({"command": "view", "path": "/memories/a"})))
    with pytest.raises(ToolError, match="The path /memories/b does not exist"):
        tool.call({"command": "delete", "path": "/memories/b"})


@pytest.mark.parametrize("path", ["/memories/a/../../etc", "/memories/\0", "memories", "/memories/" + "x" * 500, None])
def test_a_path_outside_the_folder_is_refused(path: Any) -> None:
    with pytest.raises(InvalidField):
        checked(path)
