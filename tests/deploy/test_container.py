"""The image and the compose file with a container tool, and the Dockerfile under hadolint: `make test-container`.

What a machine has not is skipped: hadolint on PATH, and a container tool that runs.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from wellkept.client import Client
from wellkept.errors import WellkeptError

ROOT = Path(__file__).parents[2]
HADOLINT = shutil.which("hadolint")
TOOLS = ("docker", "podman")
ADDRESS = "http://127.0.0.1:8642"
SECONDS = 180


def running(tool: str) -> bool:
    """Whether a container tool is here and its service answers."""
    found = shutil.which(tool)
    return found is not None and subprocess.run([found, "info"], capture_output=True, check=False).returncode == 0


TOOL = next((tool for tool in TOOLS if running(tool)), "")
pytestmark = pytest.mark.external


@pytest.mark.skipif(HADOLINT is None, reason="needs hadolint on PATH")
def test_hadolint_has_nothing_to_say() -> None:
    done = subprocess.run([str(HADOLINT), "deploy/Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def run(*arguments: str) -> str:
    environ = {**os.environ, "POSTGRES_PASSWORD": PASSWORD}
    done = subprocess.run(
        [TOOL, *arguments], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"{arguments}: {(done.stdout + done.stderr)[-3_000:]}"
    return done.stdout.strip()


PASSWORD = secrets.token_hex(16)


@pytest.fixture(scope="module")
def image() -> str:
    run("build", "-f", "deploy/Dockerfile", "-t", "wellkept-test", ".")
    return "wellkept-test"


@pytest.fixture
def volume() -> Iterator[str]:
    name = f"wellkept-test-{secrets.token_hex(4)}"
    run("volume", "create", name)
    yield name
    run("volume", "rm", "--force", name)


def served(token: str) -> None:
    """A write and a query over HTTP, once the server is ready."""
    until = time.monotonic() + SECONDS
    with Client(ADDRESS, token=token, namespace="acme", retries=0) as store:
        while True:
            try:
                store.stats()
                break
            except WellkeptError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.5)
        assert store.remember("The test database listens on port 5433.", kind="fact").outcome == "created"
        assert store.remember("the test database listens on port 5433", kind="fact").outcome == "duplicate"
        assert "5433" in store.recall("port of the test database")[0].memory.content


@pytest.mark.skipif(not TOOL, reason="needs a container tool")
def test_the_image_serves_from_a_read_only_file_system_as_nobody_in_particular(image: str, volume: str) -> None:
    common = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--volume", f"{volume}:/data")
    token = run("run", "--rm", *common, image, "token", "create", "--namespace", "*", "--scope", "admin")
    own = run("run", "--detach", *common, "--publish", "127.0.0.1:8642:8642", image)
    try:
        served(token.split()[-1])
        assert run("exec", own, "python", "-c", "import os; print(os.getuid())") == "10001"
        until = time.monotonic() + SECONDS
        while run("inspect", "--format", "{{.State.Health.Status}}", own) != "healthy":
            assert time.monotonic() < until
            time.sleep(1)
        run("stop", "--time", "30", own)
        assert run("inspect", "--format", "{{.State.ExitCode}}", own) == "0"
    finally:
        run("rm", "--force", own)


@pytest.mark.skipif(TOOL != "docker", reason="needs docker with compose")
def test_the_server_and_its_database_start_together(image: str) -> None:
    compose = ("compose", "-f", "deploy/compose.yaml", "-p", "wellkept-test")
    try:
        created = ("token", "create", "--namespace", "*", "--scope", "admin")
        token = run(*compose, "run", "--rm", "--no-TTY", "wellkept", *created)
        run(*compose, "up", "--detach", "--wait")
        served(token.split()[-1])
    finally:
        run(*compose, "down", "--volumes")
