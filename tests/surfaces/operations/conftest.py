"""A store furnished once, and copies of it."""

from __future__ import annotations

import pytest

from stores import Place, place
from surfaces.command_line import Cli
from surfaces.operations.cases import Known, copied, furnished


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Known]:
    """A read-only store, and ids in it."""
    path = place(tmp_path_factory.mktemp("furnished") / "template.db")
    return path, furnished(path)


@pytest.fixture
def twins(cli: Cli, template: tuple[Place, Known]) -> tuple[Cli, Place, Known]:
    """Two copies: one for the command line, one for another surface."""
    path, known = template
    other = place(cli.folder / "other.db")
    for copy in (cli.db, other):
        copied(path, copy)
    return cli, other, known
