"""Everything that is installed is named once, pinned and hashed, and no list names an address."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTS = ("build", "dev", "installer", "runtime", "server")
PIN = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[^\s;]+)(\s*;.*)?$")
ADDRESS = re.compile(
    r"://|@|\bwww\.|^\s*--?(index|extra|find|trusted|i|f|r|c|e)\b|(^|[\s=])(/|~|\.{1,2}/)|[a-z]:\\|\.(org|com|net|io)\b",
    re.M | re.I,
)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def text_of(name: str) -> str:
    return (ROOT / "constraints" / f"{name}.txt").read_text("utf-8")


def requirements(text: str) -> list[str]:
    """One logical line for each package: pin, marker and hashes."""
    return [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def pins(name: str) -> dict[str, str]:
    found = {}
    for line in requirements(text_of(name)):
        pin = PIN.match(line.split(" --hash", 1)[0].strip())
        assert pin, f"constraints/{name}.txt: not a pin: {line[:80]}"
        assert pin["name"] not in found, f"constraints/{name}.txt: {pin['name']} has two versions"
        found[pin["name"]] = pin["version"]
    return found


def declared(requirement_list: list[str]) -> set[str]:
    names = [NAME.match(requirement) for requirement in requirement_list]
    return {re.sub(r"[-_.]+", "-", name.group(0)).lower() for name in names if name}


@pytest.mark.parametrize("name", LISTS)
def test_no_lock_names_an_address_an_option_or_a_place_on_a_machine(name: str) -> None:
    found = ADDRESS.search(text_of(name))
    assert not found, f"constraints/{name}.txt: {found.group(0)!r}"


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.test/simple",
        "--find-links /opt/wheels",
        "-i simple",
        "-e .",
        "x @ file:x.whl",
        "x==1.0 --hash=sha256:00 # from pypi.example.org",
        "    # via -r /home/me/requirements.in",
    ],
)
def test_an_address_would_be_noticed(line: str) -> None:
    assert ADDRESS.search("numpy==2.0 \\\n    --hash=sha256:ab\n" + line + "\n")


@pytest.mark.parametrize("name", LISTS)
def test_every_package_is_pinned_and_hashed(name: str) -> None:
    for line in requirements(text_of(name)):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", line), f"constraints/{name}.txt: no hash: {line[:60]}"
    assert pins(name)


def test_the_lists_agree_with_each_other() -> None:
    dev = pins("dev")
    for name in ("build", "runtime", "server"):
        differing = {package for package, version in pins(name).items() if dev.get(package) != version}
        assert not differing, f"constraints/{name}.txt and dev.txt differ in {sorted(differing)}; run make lock"


def test_every_declared_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = project["dependency-groups"]
    assert declared(project["project"]["dependencies"]) <= set(pins("runtime"))
    assert declared(groups["build"]) <= set(pins("build"))
    assert declared(groups["dev"]) <= set(pins("dev"))
    assert declared(groups["installer"]) <= set(pins("installer"))


def test_the_runtime_list_brings_no_developer_tool() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert not declared(project["dependency-groups"]["dev"]) & set(pins("runtime"))
