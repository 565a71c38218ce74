"""Runs the tests of `suites.toml` and says which pass: `make test-upstream`.

A suite is fetched as a source distribution by its name and version, never copied into the repository. It fails if a
test fails that is not listed, or if a listed one passes. A suite may name an environment, a folder of `--beside`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
WORK = ROOT / "build" / "upstream"
SUITES: Mapping[str, Any] = tomllib.loads((HERE / "suites.toml").read_text("utf-8"))


def folder_of(name: str, suite: Mapping[str, Any]) -> Path:
    """Where the tests of a suite are; fetched if need be."""
    if given := os.environ.get(suite.get("checkout", ""), ""):
        return Path(given)
    if "sdist" not in suite:
        return HERE
    place = WORK / name / suite["sdist"]
    if not any(place.glob("*/")):
        place.mkdir(parents=True, exist_ok=True)
        download = ["download", "--quiet", "--no-deps", "--no-binary", suite["sdist"].partition("==")[0]]
        subprocess.run([sys.executable, "-m", "pip", *download, "-d", place, suite["sdist"]], check=True)
        with tarfile.open(next(place.glob("*.tar.gz"))) as archive:
            archive.extractall(place, filter="data")
    return next(one for one in place.iterdir() if one.is_dir())


def python_of(suite: Mapping[str, Any], beside: Path) -> str:
    """The interpreter of a suite: this one, or that of the environment it names."""
    return str(beside.resolve() / suite["environment"] / "bin" / "python") if "environment" in suite else sys.executable


def run(name: str, suite: Mapping[str, Any], beside: Path) -> dict[str, list[bool]]:
    """Whether each test passed, once for each of its parameters."""
    folder, report = folder_of(name, suite), WORK / f"{name}.xml"
    WORK.mkdir(parents=True, exist_ok=True)
    plugin = ["-p", suite["plugin"]] if "plugin" in suite else []
    options = [
        "-q",
        "-c",
        os.devnull,
        f"--rootdir={folder}",
        "--noconftest",
        "-o",
        "asyncio_mode=auto",
        "-o",
        "markers=flaky: x",
    ]
    quiet = ["-W", "ignore", "-p", "no:cacheprovider", "--tb=line", f"--junitxml={report}"]
    path = os.pathsep.join((str(ROOT / "src"), str(HERE), str(folder)))
    environment = {**os.environ, "PYTHONPATH": path, "LANGSMITH_TRACING": "false", **suite.get("variables", {})}
    without = [f"--deselect={test}" for test in suite.get("not_run", ())]
    command = [python_of(suite, beside), "-m", "pytest", *plugin, *options, *quiet, *without, *suite["tests"]]
    subprocess.run(command, cwd=folder, env=environment, check=False)
    found: dict[str, list[bool]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is None:
            key = f"{case.get('classname')}::{str(case.get('name')).partition('[')[0]}"
            found.setdefault(key, []).append(case.find("failure") is None and case.find("error") is None)
    return found


def told(name: str, suite: Mapping[str, Any], beside: Path) -> bool:
    """Print what passes; whether it is what the list says."""
    found = run(name, suite, beside)
    internals, misses = suite.get("internals", {}), suite.get("misses", {})
    counted = {key: runs for key, runs in found.items() if key not in internals}
    passed, whole = sum(map(sum, counted.values())), sum(map(len, counted.values()))
    print(f"\n{name}: {passed} of {whole} pass; {len(internals)} tests of internals are not counted")
    for key, reason in misses.items():
        print(f"  misses {key}: {reason}")
    for key, reason in suite.get("not_run", {}).items():
        print(f"  does not run {key}: {reason}")
    wrong = [f"fails: {key}" for key, runs in counted.items() if key not in misses and not all(runs)]
    wrong += [f"is listed, and passes or is gone: {key}" for key in (*internals, *misses) if all(found.get(key, ()))]
    print("".join(f"  {line}\n" for line in wrong), end="")
    return bool(found) and not wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", type=Path, default=ROOT / ".venv-frameworks")
    parser.add_argument("suites", nargs="*", default=list(SUITES))
    given = parser.parse_args()
    results = [told(name, SUITES[name], given.beside) for name in given.suites]
    sys.exit(not all(results))
