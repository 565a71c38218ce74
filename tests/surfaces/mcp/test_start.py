"""Start time of an agent's tools: listing them loads no module that only calls need (issue 6)."""

from __future__ import annotations

import os
import subprocess
import sys

LISTS = """
import asyncio, sys
import wellkept.cli.app
from wellkept.server.mcp.server import server_of
def nobody():
    raise AssertionError("the store was opened")
tools = asyncio.run(server_of(nobody, toolset="full").list_tools())
heavy = ("numpy", "onnxruntime", "tokenizers", "sqlite3", "psycopg", "fastapi", "wellkept.core.judging.compare")
heavy += ("wellkept.engine.verbs.store",)
print(len(tools) > 20, [name for name in heavy if name in sys.modules])
"""


def test_a_client_that_lists_the_tools_waits_for_no_store_no_numbers_and_no_model() -> None:
    """`python -m benchmarks.mcp_start` measures it; this keeps it so."""
    done = subprocess.run(
        [sys.executable, "-c", LISTS], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.strip() == "True []", done.stderr[-2000:]
