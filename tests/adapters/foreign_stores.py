"""Stores of other tools as those tools made them, put up again from the fixtures."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"


def database(script: Path, target: Path) -> Path:
    """The database that a script of `sql_dump` describes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(target)) as connection:
        connection.executescript(script.read_text(encoding="utf-8"))
        connection.commit()
    return target


def mem0(folder: Path) -> Path:
    """A folder of Qdrant's local mode."""
    folder.mkdir(parents=True)
    shutil.copy(FIXTURES / "mem0" / "meta.json", folder / "meta.json")
    (folder / ".lock").write_text("tmp lock file")
    database(FIXTURES / "mem0" / "points.sql", folder / "collection" / "mem0" / "storage.sqlite")
    return folder


def mem0_history(folder: Path) -> Path:
    """mem0's history database."""
    return database(FIXTURES / "mem0" / "history.sql", folder / "history.db")


def mcp_memory_service(folder: Path) -> Path:
    """The database of mcp-memory-service, in write-ahead mode as it leaves it."""
    path = database(FIXTURES / "mcp_memory_service.sql", folder / "sqlite_vec.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
    return path


def chroma(folder: Path) -> Path:
    """A folder of Chroma."""
    database(FIXTURES / "chroma.sql", folder / "chroma.sqlite3")
    return folder


def mcp_server_memory(folder: Path) -> Path:
    """The file of the MCP reference server."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(FIXTURES / "mcp_server_memory.jsonl", folder / "memory.jsonl"))


def notes(folder: Path) -> Path:
    """A folder of Markdown notes."""
    (folder / "daily").mkdir(parents=True)
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "hidden.md").write_text("- nobody reads this\n")
    (folder / "daily" / "2026-01-05.md").write_text("- The build takes nine minutes.\n- [x] Book the room.\n")
    (folder / "team.md").write_text(
        "---\ntitle: Team\ntags: [team, '#rules']\ncreated: 2026-02-01\nowner: ana\n---\n\n"
        "How we work.\nIn two lines.\n\n# Reviews\n\n* Reviews need two approvals.\n  Always.\n"
        "  1. Even at night.\n\n## Rust\n<!-- - not this -->\nRun this:\n\n```sh\n# no heading\n- no item\n```\n\n***\n"
        "测试数据库监听端口 5433。\n",
        encoding="utf-8",
    )
    return folder


def json_lines(folder: Path) -> Path:
    """A file of JSON lines."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(FIXTURES / "texts.jsonl", folder / "notes.jsonl"))
