"""Wheel and sdist contain the right files and work in an otherwise empty environment."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from distributions.fresh import SECONDS, Fresh, needed

ROOT = Path(__file__).parents[2]
WEIGHTS_TO_GO_ON_FROM = ("training/lists/run_d/", "training/multilingual/run_c/")
LOCKED = (
    "anthropic",
    "crossencoder",
    "langchain",
    "langgraph",
    "mcp",
    "openai-agents",
    "otel",
    "postgres",
    "pydantic-ai",
    "server",
)
LARGE = ("adk", "agent-framework", "crewai", "llamaindex", "strands")
"""Extras of agent frameworks that the development environment has not; `make test-frameworks` installs them."""


def built(source: Path, folder: Path, *kinds: str) -> Path:
    """The one distribution that is built into a new folder, without the network."""
    pytest.importorskip("hatchling", reason="the build tools are part of constraints/dev.txt")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(
        [*build, *(part for kind in kinds for part in ("-t", kind))], cwd=source, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


def about(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as file:
        (metadata,) = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(file.read(metadata).decode("utf-8"))


# --------------------------------------------------------------------------------------------
# What is in them


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert shipped == wanted
    assert {"wellkept/py.typed", "wellkept/models/weights/relation.onnx"} <= shipped


def test_the_wheel_carries_licence_and_notice_and_names_both(wheel: Path) -> None:
    assert about(wheel)["License-Expression"] == "Apache-2.0"
    assert set(about(wheel).get_all("License-File", [])) == {"LICENSE", "NOTICE"}
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.rsplit("/", 1)[-1] for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}


def test_the_notice_names_each_file_that_others_had_a_part_in() -> None:
    notice = (ROOT / "NOTICE").read_text("utf-8")
    models, core = ROOT / "src/wellkept/models", ROOT / "src/wellkept/core"
    binary = [*models.rglob("*.gz"), *models.rglob("*.onnx"), *models.rglob("*.bin"), *core.rglob("*.gz")]
    assert binary
    for path in binary:
        assert path.relative_to(ROOT).as_posix() in notice


def test_the_metadata_say_who_made_it_for_whom_and_what_it_needs(wheel: Path) -> None:
    found = about(wheel)
    assert found["Author"] == "Wellkept contributors"
    assert found["Requires-Python"] == ">=3.11"
    assert found["Description-Content-Type"] == "text/markdown" and "# Wellkept" in str(found.get_payload())
    assert found.get_all("Provides-Extra", []) == sorted((*LOCKED, *LARGE))
    assert "Typing :: Typed" in found.get_all("Classifier", [])


def test_the_wheel_installs_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        (entry_points,) = [name for name in file.namelist() if name.endswith(".dist-info/entry_points.txt")]
        assert "wellkept = wellkept.cli:main" in file.read(entry_points).decode("utf-8")


def test_plain_use_brings_no_client_of_a_model_hub_and_no_web_server(wheel: Path) -> None:
    brought = set(needed(about(wheel).get_all("Requires-Dist", [])))
    assert {"numpy", "onnxruntime"} <= brought
    assert not {"huggingface-hub", "tokenizers", "tqdm", "fastapi", "mcp", "psycopg", "requests"} & brought


def test_the_sdist_holds_the_files_of_the_repository_and_nothing_else() -> None:
    names = planned()
    assert {"LICENSE", "NOTICE", "Makefile", ".ci/run", "constraints/dev.txt", "conftest.py"} <= names
    if not (ROOT / ".git").exists():
        pytest.skip("which files belong to the repository is known in a clone only")
    left_out = {name for name in listed("--cached") if name.startswith(WEIGHTS_TO_GO_ON_FROM)}
    assert (
        listed("--cached") - left_out - {"pyproject.toml"}
        <= names
        <= listed("--cached", "--others", "--exclude-standard")
    )


def planned() -> set[str]:
    """The files that an sdist would hold, without the two that describe it; packing them takes half a minute."""
    builder = pytest.importorskip("hatchling.builders.sdist").SdistBuilder(str(ROOT))
    return {Path(file.distribution_path).as_posix() for file in builder.recurse_included_files()}


def listed(*options: str) -> set[str]:
    """Files that git knows of and that are there."""
    done = subprocess.run(["git", "ls-files", "-z", *options], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.split("\0") if (ROOT / name).is_file()}


@pytest.mark.soak
def test_a_wheel_made_from_the_sdist_is_the_same(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as file:
        assert {name.partition("/")[2] for name in file.getnames()} == planned() | {"PKG-INFO", "pyproject.toml"}
        file.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    again = built(source, tmp_path / "wheel", "wheel")
    assert again.name == wheel.name
    assert contents(again) == contents(wheel)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as file:
        return {name: file.read(name) for name in file.namelist()}


# --------------------------------------------------------------------------------------------
# Installed


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """An environment with Wellkept and its declared dependencies."""
    made = Fresh(tmp_path_factory.mktemp("fresh"), wheel.parent)
    made.link(needed(about(wheel).get_all("Requires-Dist", [])).values())
    made.install("wellkept")
    return made


@pytest.mark.slow
def test_it_runs_with_both_models_where_nothing_else_is_installed(fresh: Fresh) -> None:
    fresh.run("python", "-m", "pip", "check")
    where = fresh.run("python", "-c", "import wellkept; print(wellkept.__file__)").strip()
    assert Path(where).is_relative_to(fresh.site)
    first = fresh.run("wellkept", "--db", "a.db", "remember", "The test database listens on port 5433.")
    assert first.startswith("created")
    again = fresh.run("wellkept", "--db", "a.db", "remember", "the test database listens on PORT 5433!")
    assert again.startswith("duplicate")
    found = fresh.run("wellkept", "--db", "a.db", "recall", "Where does the database for testing listen?")
    assert "port 5433" in found
    told = json.loads(fresh.run("wellkept", "--db", "a.db", "doctor", "--json"))
    findings = {finding["topic"]: finding for finding in told["findings"]}
    assert told["ok"] and not [finding for finding in told["findings"] if finding["health"] != "ok"]
    assert "minilm" in findings["model"]["what"] and "relation@" in findings["relation model"]["what"]


@pytest.mark.slow
def test_what_an_extra_would_bring_is_asked_for_by_name(fresh: Fresh) -> None:
    # Before the next test installs them.
    for command, extra in ((["mcp"], "mcp"), (["serve"], "server"), (["--db", "postgresql://x/y", "list"], "postgres")):
        said = fresh.run("wellkept", "--json", *command, fails=True)
        assert f"wellkept[{extra}]" in json.loads(said)["error"]["todo"]


@pytest.mark.slow
def test_the_extras_bring_what_their_surfaces_need(fresh: Fresh, wheel: Path) -> None:
    for extra in LOCKED:
        fresh.link(needed(about(wheel).get_all("Requires-Dist", []), extra).values())
    fresh.install(f"wellkept[{','.join(LOCKED)}]")
    fresh.run("python", "-m", "pip", "check")
    fresh.run("python", "-c", "import psycopg, tokenizers")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    done = subprocess.run(
        [str(fresh.bin / "wellkept"), "--db", "a.db", "mcp"], input=request, cwd=fresh.home,
        env=fresh.surroundings(), capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "wellkept", done.stderr
    server = subprocess.Popen(
        [str(fresh.bin / "wellkept"), "--db", "a.db", "serve", "--port", "0", "--json"],
        cwd=fresh.home, env=fresh.surroundings(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        assert "address" in json.loads(server.stdout.readline())
    finally:
        server.terminate()
        server.communicate(timeout=SECONDS)
