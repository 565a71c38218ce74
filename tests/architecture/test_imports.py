"""What an import costs and what it may reach."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from statistics import median

import pytest

import wellkept

ROOT = Path(__file__).parents[2]

HEAVY = (
    "httpx2",
    "numpy",
    "onnxruntime",
    "platformdirs",
    "pydantic",
    "pydantic_settings",
    "rapidfuzz",
    "rich",
    "sqlite3",
    "tokenizers",
    "typer",
)


def loaded_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_wellkept_loads_no_heavy_package() -> None:
    # Design §11: a program that only imports the package pays for none of its engines.
    assert not loaded_after("import wellkept") & set(HEAVY)


def test_handing_a_command_to_a_daemon_imports_next_to_nothing() -> None:
    statement = "import wellkept.cli.daemon.handover, wellkept.cli.daemon.place"
    assert not loaded_after(statement) & {*HEAVY, "dataclasses", "json", "subprocess", "typing"}


COSTLY = (
    "numpy",
    "onnxruntime",
    "rapidfuzz",
    "pydantic",
    "httpx2",
    "mcp",
    "fastapi",
    "starlette",
    "uvicorn",
    "tokenizers",
    "psycopg",
    "wellkept.core.consolidation",
    "wellkept.core.differences",
    "wellkept.engine.consolidation",
    "wellkept.engine.gate",
    "wellkept.engine.transfer",
    "wellkept.models.minilm",
    "wellkept.operations.table",
    "wellkept.server",
)
"""What takes long to import, or belongs to other commands."""


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["recall", "--help"], set()),
        (["list", "--limit", "5", "--kind", "note"], set()),
        (["get", "0", "--json"], set()),
        (["recall", "tea", "-n", "3"], {"numpy"}),
        (["recall", "tea", "--json"], {"numpy"}),
    ],
    ids=" ".join,
)
def test_a_command_imports_nothing_that_it_does_not_use(tmp_path: Path, words: list[str], needed: set[str]) -> None:
    file = tmp_path / "memory.db"
    with wellkept.open(file, embedder="hashing", relation_model="none") as store:
        store.remember("Tea is upstairs.")
    options = ["--db", str(file), "--embedder", "hashing"]
    script = (
        f"import sys\nfrom wellkept.cli import main\nmain({[*options, *words]!r})\n"
        f"print('LOADED', *({{*sys.modules}} & {{*{COSTLY!r}}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=alone(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.splitlines()[-1].split()[1:]) == needed


def test_listing_memories_costs_few_times_what_importing_numpy_does(tmp_path: Path) -> None:
    """Relative, as seconds depend on the machine. It was seven times as much when each command imported all."""
    file = tmp_path / "memory.db"
    with wellkept.open(file, embedder="hashing", relation_model="none") as store:
        store.remember("Tea is upstairs.")
    ours = [sys.executable, "-m", "wellkept.cli", "--db", str(file), "--embedder", "hashing", "list"]
    floor = [sys.executable, "-c", "import numpy"]
    turns = [(cpu_of(ours, tmp_path), cpu_of(floor, tmp_path)) for _ in range(7)]  # in turns: other work disturbs both
    assert median(one / other for one, other in turns) < 4, turns


def cpu_of(command: list[str], folder: Path) -> float:
    """CPU seconds of a process that ends well; its modules are compiled by the first run."""
    with subprocess.Popen(command, cwd=folder, env=alone(folder), stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


def alone(folder: Path) -> dict[str, str]:
    """An environment with bytecode, without personal settings and without threads that only wait."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    own = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    return {**kept, **own, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}


def test_the_probe_sees_what_is_loaded() -> None:
    assert {"wellkept", "sqlite3"} <= loaded_after("import wellkept, sqlite3")


def test_every_backend_and_model_is_behind_the_composition_root() -> None:
    # The contract speaks of all modules below storage and models by wildcard; an implementation moved
    # elsewhere would escape it, so concrete libraries may only be imported below these. Adapters read foreign files.
    models = ("models/",)
    places = {
        "sqlite3": ("storage/", "adapters/"),
        "onnxruntime": models,
        "tokenizers": models,
        "httpx2": (*models, "client/"),
    }
    package = ROOT / "src" / "wellkept"
    for path in package.rglob("*.py"):
        place = path.relative_to(package).as_posix()
        for line in path.read_text("utf-8").splitlines():
            words = line.split()
            if words[:1] in (["import"], ["from"]) and (home := places.get(words[1].split(".")[0])):
                assert place.startswith((*home, "testing/")), f"{place}: {line.strip()}"


def test_the_layers_are_exhaustive_and_strict() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract for contract in contracts if contract["type"] == "layers")
    assert layers["exhaustive"] is True
    assert "ignore_imports" not in layers
    named = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    package = ROOT / "src" / "wellkept"
    present = {path.stem for path in package.glob("*.py") if path.stem != "__init__"}
    present |= {path.parent.name for path in package.glob("*/__init__.py")}
    assert present <= named
