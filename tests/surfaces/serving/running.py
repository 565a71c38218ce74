"""A server process as in normal use, on loopback and a free port."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from wellkept.server.access import Tokens, tokens_file
from wellkept.server.access.token_database import DatabaseTokens
from wellkept.server.access.token_record import TokenKeeper
from wellkept.storage.postgres import PostgresStorage

ROOT = Path(__file__).parents[3]
SECONDS = 180
"""How long anything may take before a test gives up; nothing waits this long when all is well."""


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        process: Its process.
        told: Its output when it began to listen.
    """

    process: subprocess.Popen[str]
    told: dict[str, object]

    @property
    def address(self) -> str:
        """Where it listens."""
        return str(self.told["address"])

    @property
    def port(self) -> int:
        """The port of it."""
        return int(self.address.rpartition(":")[2])

    def client(self, secret: str = "", namespace: str = "") -> httpx2.Client:
        """A client with a token."""
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        if namespace:
            headers["Wellkept-Namespace"] = namespace
        return httpx2.Client(base_url=self.address, headers=headers, timeout=SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.process.pid, number)

    def end(self) -> tuple[int, str, str]:
        """Wait for its end; returns exit code and further output."""
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err


@contextmanager
def serving(db: Path | str, *options: str, port: int = 0) -> Iterator[Server]:
    """A server of a store, killed at the end if it still runs."""
    process = launched(db, "--port", str(port), *options)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise AssertionError(f"the server did not start: {process.communicate(timeout=SECONDS)[1]}")
        told = json.loads(line)
        assert "address" in told, told
        yield Server(process, told)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def launched(db: Path | str, *options: str) -> subprocess.Popen[str]:
    """`wellkept serve` as a process; of a file in its folder, or of a database."""
    command = [sys.executable, "-m", "wellkept.cli", "--db", str(db), "--embedder", "hashing"]
    paths = str(ROOT / "src")
    settings = {"PYTHONPATH": paths, "WELLKEPT_RELATION_MODEL": "none", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, "serve", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=db.parent if isinstance(db, Path) else None,
        env={**surroundings(), **settings},
    )


def surroundings() -> dict[str, str]:
    """The environment without any of our settings, also where the fixtures of a test have not cleared it yet."""
    return {name: value for name, value in os.environ.items() if not name.startswith("WELLKEPT_")}


@contextmanager
def tokens_of(db: Path | str) -> Iterator[TokenKeeper]:
    """The tokens of a store, beside its file or in its database."""
    if isinstance(db, Path):
        yield Tokens(tokens_file(db))
        return
    storage = PostgresStorage(db)
    try:
        yield DatabaseTokens(storage.tokens())
    finally:
        storage.close()


def token(db: Path | str, namespace: str, *scopes: str, name: str = "") -> str:
    """The secret of a new token."""
    with tokens_of(db) as tokens:
        made = tokens.create(
            name=name or namespace.partition("/")[0], namespaces=[namespace], scopes=scopes or ("write",)
        )
    return made[1]


def revoke(db: Path | str) -> None:
    """End the oldest token."""
    with tokens_of(db) as tokens:
        tokens.revoke(tokens.list()[0].id)
