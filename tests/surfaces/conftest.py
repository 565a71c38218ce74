"""A command line in a separate folder, and MCP servers that are made quickly."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from surfaces.command_line import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Cli(tmp_path, tmp_path / "test.db")


@pytest.fixture(scope="session", autouse=True)
def schemas_made_once() -> None:
    """Hundreds of tests make an MCP server, which takes half a second for schemas that follow from the table alone."""
    from wellkept.server.mcp import tools

    for name in ("input_schema", "output_schema"):
        setattr(tools, name, cache(getattr(tools, name)))
