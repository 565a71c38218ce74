"""What an import costs and what it may reach."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

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
