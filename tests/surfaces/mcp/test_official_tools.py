"""The project's own tools for MCP against ours: the Inspector's command line, and the conformance scenarios.

Optional: they need Node 22.19 or newer and the npm packages `@modelcontextprotocol/inspector` and
`@modelcontextprotocol/conformance`, with their commands on PATH, as `make test-mcp` puts them.
The scenarios are the generic ones; the others ask for tools that only a test server has.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wellkept
from stores import place
from surfaces.mcp.servers import command, listening
from wellkept.server.mcp.server import http_app

INSPECTOR, CONFORMANCE = shutil.which("mcp-inspector"), shutil.which("conformance")
OLDEST_NODE = (22, 19)
SCENARIOS = {
    "2025-11-25": (
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list",
        "server-sse-multiple-streams", "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "tools-list", "resources-list", "prompts-list", "caching", "http-header-validation",
        "sep-2164-resource-not-found", "input-required-result-unsupported-methods",
    ),
}  # fmt: skip


def node_is_new_enough() -> bool:
    node = shutil.which("node")
    if node is None:
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", told)
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST_NODE


pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(not node_is_new_enough(), reason="needs Node 22.19 or newer"),
]


def inspected(target: list[str], *method: str) -> Any:
    assert INSPECTOR is not None
    done = subprocess.run([INSPECTOR, "--cli", *target, *method], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with wellkept.open(str(place(tmp_path / "http.db")), embedder="hashing") as store:
        store.remember("Tea is upstairs.")
        with listening(http_app(store, toolset="full")) as where:
            yield f"{where}/"


@pytest.mark.skipif(INSPECTOR is None, reason="needs mcp-inspector on PATH")
def test_the_inspector_lists_and_calls_over_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = command(tmp_path)
    monkeypatch.chdir(tmp_path)
    # The Inspector hands nothing of its own environment on.
    said = [part for name, value in (server.env or {}).items() for part in ("-e", f"{name}={value}")]
    target = [server.command, *server.args, *said]
    listed = inspected(target, "--method", "tools/list", "--strict")
    assert {"remember", "recall"} <= {tool["name"] for tool in listed["tools"]}
    called = inspected(
        target, "--method", "tools/call", "--tool-name", "remember", "--tool-arg", "content=Use ruff.",
        "--tool-arg", "kind=lesson",
    )  # fmt: skip
    assert called["structuredContent"]["outcome"] == "created"


@pytest.mark.skipif(INSPECTOR is None, reason="needs mcp-inspector on PATH")
def test_the_inspector_lists_over_http(address: str) -> None:
    listed = inspected([address, "--transport", "http"], "--method", "resources/list")
    assert "wellkept://health" in {item["uri"] for item in listed["resources"]}


@pytest.mark.skipif(CONFORMANCE is None, reason="needs conformance on PATH")
@pytest.mark.parametrize(
    ("version", "scenario"), [(version, name) for version, names in SCENARIOS.items() for name in names]
)
def test_the_generic_conformance_scenarios_pass(address: str, tmp_path: Path, version: str, scenario: str) -> None:
    assert CONFORMANCE is not None
    done = subprocess.run(
        [CONFORMANCE, "server", "--url", address, "--scenario", scenario, "--spec-version", version],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-3_000:]
