"""The curl session of docs/seed-api.md, typed into a shell against a running server (S0-53)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import wellkept
from console_blocks import Command, parse
from surfaces.rest.serving import rest_app, served

PAGE = Path(__file__).parents[2] / "docs" / "seed-api.md"
_BLOCK = re.compile(r"(<!--- skip: next -->\s+)?```console\n(.*?)```", re.DOTALL)


def session() -> list[Command]:
    """Every curl command of the page that is not skipped."""
    text = PAGE.read_text("utf-8")
    blocks = [block for skipped, block in _BLOCK.findall(text) if not skipped]
    return [command for block in blocks for command in parse(block)]


def fits(expected: Any, got: Any) -> bool:
    """Whether an answer is the one of the page, where `...` in a text stands for anything."""
    match expected:
        case dict():
            same = isinstance(got, dict) and expected.keys() == got.keys()
            return same and all(fits(expected[name], got[name]) for name in expected)
        case list():
            return isinstance(got, list) and len(expected) == len(got) and all(map(fits, expected, got))
        case str() if "..." in expected and isinstance(got, str):
            return re.fullmatch(".*".join(map(re.escape, expected.split("..."))), got, re.DOTALL) is not None
        case _:
            return bool(expected == got)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl; the same requests are in test_seed_endpoint.py")
def test_the_session_of_the_page_happens_as_it_is_printed(tmp_path: Path) -> None:
    """S0-53, under the models that ship."""
    commands = session()
    assert len(commands) >= 6
    with wellkept.open(str(tmp_path / "agent.db")) as store, served(rest_app(store)) as address:
        for command in commands:
            line = command.line.replace("http://127.0.0.1:8642", address).replace("python -c", f"{sys.executable} -c")
            done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=True)
            if command.expected == "...":
                assert done.stdout.strip(), line
            else:
                expected, got = json.loads(command.expected), json.loads(done.stdout)
                assert fits(expected, got), f"{line}\n{done.stdout}"
