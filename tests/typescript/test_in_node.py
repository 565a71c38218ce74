"""The TypeScript client, compiled in strict mode and run by Node against a running server: `make test-typescript`.

It needs Node 20.3 or newer, and the compiler where `npm install` puts it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from surfaces.serving.running import serving

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
COMPILER = CLIENT / "node_modules" / "typescript" / "bin" / "tsc"
NODE = shutil.which("node")
OLDEST = (20, 3)


def node_is_new_enough() -> bool:
    if NODE is None:
        return False
    told = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", told)
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST


pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(not node_is_new_enough(), reason="needs Node 20.3 or newer"),
    pytest.mark.skipif(not COMPILER.exists(), reason="needs the TypeScript compiler: make test-typescript"),
]


def run(*command: str | Path, address: str = "") -> str:
    assert NODE is not None
    environ = {**os.environ, "WELLKEPT_URL": address}
    done = subprocess.run([NODE, *command], cwd=CLIENT, env=environ, capture_output=True, text=True, timeout=240)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told[max(0, told.find("not ok")) :][:4_000]
    return done.stdout


def test_the_client_works_against_a_running_server(tmp_path: Path) -> None:
    run(COMPILER, "-p", "tsconfig.json", "--outDir", "build")
    with serving(tmp_path / "agent.db") as server:
        told = run("--test", "build/tests/", address=server.address)
    assert re.search(r"pass (1[0-9])\b", told) and "fail 0" in told, told[-3_000:]


def test_what_is_published_is_the_client_alone_and_type_checks(tmp_path: Path) -> None:
    run(COMPILER, "-p", "tsconfig.build.json", "--outDir", tmp_path / "dist")
    found = {path.relative_to(tmp_path / "dist").as_posix() for path in (tmp_path / "dist").rglob("*.js")}
    assert "index.js" in found and not [name for name in found if "test" in name]


def test_the_examples_of_the_read_me_are_well_typed_and_run(tmp_path: Path) -> None:
    place = CLIENT / "build" / "readme"
    place.mkdir(parents=True, exist_ok=True)
    blocks = re.findall(r"```ts\n(.*?)```", (CLIENT / "README.md").read_text("utf-8"), re.DOTALL)
    text = "\n".join(blocks).replace('"wellkept-client"', '"../../src/index.js"')
    (place / "example.ts").write_text(text, "utf-8")
    config = {
        "extends": "../../tsconfig.json",
        "compilerOptions": {"rootDir": "../..", "outDir": "out"},
        "include": ["../../src", "example.ts"],
    }
    (place / "tsconfig.json").write_text(json.dumps(config), "utf-8")
    run(COMPILER, "-p", place)
    with serving(tmp_path / "agent.db") as server:
        told = run(place / "out" / "build" / "readme" / "example.js", address=server.address)
    assert told.splitlines()[0].startswith("created Stored:") and "no memory 'nobody'" in told, told
