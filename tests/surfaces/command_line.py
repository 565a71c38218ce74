"""The command line as tests use it: a store of their own, the fast embedder, nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from stores import Place, place
from wellkept.cli.app import app

_ASK_THE_MODEL = {"minilm", "doctor", "--policy"}
"""Arguments of commands that may ask the relation model; with the fast embedder, the others run without it."""


@dataclass(frozen=True)
class Cli:
    """Runs commands in this process, on one store.

    Attributes:
        folder: Where they run.
        file: Where the store is kept, for tests of the file itself.
        url: A database it is kept in instead.
        embedder: The fast one, which compares words only, and nobody else does; or another, beside the relation model.
    """

    folder: Path
    file: Path
    url: str = ""
    embedder: str = "hashing"

    @property
    def db(self) -> Place:
        """Where the store is kept: the file, or a database in its stead."""
        return self.url or place(self.file)

    def __call__(self, *arguments: str, stdin: str | bytes | None = None, code: int = 0) -> Result:
        """Run a command and expect an exit code."""
        options = ["--db", str(self.db), "--embedder", self.embedder]
        only_letters = self.embedder == "hashing" and not _ASK_THE_MODEL & set(arguments)
        plain = {"WELLKEPT_RELATION_MODEL": "none"} if only_letters else {}
        result = CliRunner(env=plain).invoke(app, [*options, *arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, f"exit {result.exit_code}\n{result.stdout}\n{result.stderr}"
        return result

    def json(self, *arguments: str, stdin: str | bytes | None = None, code: int = 0) -> Any:
        """Run a command with `--json` and read its one object."""
        return json.loads(self(*arguments, "--json", stdin=stdin, code=code).stdout)

    def rows(self, *arguments: str) -> list[Any]:
        """Run a command with `--json` and read its lines."""
        return [json.loads(line) for line in self(*arguments, "--json").stdout.splitlines()]

    def remember(self, text: str, *arguments: str) -> str:
        """Store a text and give back the id of the memory that holds it."""
        memory_id: str = self.json("remember", text, *arguments)["memory"]["id"]
        return memory_id
