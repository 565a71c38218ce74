"""A command line in a separate folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from surfaces.command_line import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Cli(tmp_path, tmp_path / "test.db")
