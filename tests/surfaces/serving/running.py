"""A server in a process of its own, as somebody would start it, on loopback and a free port."""

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

from wellkept.surfaces.access import Tokens, tokens_file

ROOT = Path(__file__).parents[3]
SECONDS = 60
"""How long anything may take before a test gives up; nothing waits this long when all is well."""


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        process: Its process.
        told: What it printed when it began to listen.
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
        """Wait for its end; exit code, and what it printed since."""
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
        yield Server(process, json.loads(line))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def launched(db: Path | str, *options: str) -> subprocess.Popen[str]:
    """`wellkept serve` as a process; of a file in its folder, or of a database."""
    command = [sys.executable, "-m", "wellkept.surfaces.cli", "--db", str(db), "--embedder", "hashing"]
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT / "packages" / "relation" / "src")))
    settings = {"PYTHONPATH": paths, "WELLKEPT_RELATION_MODEL": "none", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*command, "serve", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=db.parent if isinstance(db, Path) else None,
        env={**os.environ, **settings},
    )


def token(db: Path, namespace: str, *scopes: str, name: str = "") -> str:
    """The secret of a new token."""
    made = Tokens(tokens_file(db)).create(
        name=name or namespace.partition("/")[0], namespaces=[namespace], scopes=scopes or ("write",)
    )
    return made[1]
