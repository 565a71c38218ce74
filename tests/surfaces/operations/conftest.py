"""A store furnished once, and copies of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from surfaces.command_line import Cli
from surfaces.operations.cases import Known, copied, furnished


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Known]:
    """A store that nobody writes to, and what to name in it."""
    path = tmp_path_factory.mktemp("furnished") / "template.db"
    return path, furnished(path)


@pytest.fixture
def twins(cli: Cli, template: tuple[Path, Known]) -> tuple[Cli, Path, Known]:
    """Two copies: one for the command line, one for another surface."""
    path, known = template
    other = cli.folder / "other.db"
    for copy in (cli.db, other):
        copied(path, copy)
    return cli, other, known
