"""A fresh virtual environment, filled with packages that are here already, so that nothing is downloaded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

SECONDS = 120


class Fresh:
    """A virtual environment of the Python that runs the tests.

    Args:
        folder: Where it is made.
        wheels: The only place from which packages are installed.
    """

    def __init__(self, folder: Path, wheels: Path) -> None:
        self._wheels = wheels
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        place = folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True, capture_output=True)
        self.bin = place / "bin"
        (self.site,) = place.glob("lib/python*/site-packages")

    def run(self, *command: str, fails: bool = False) -> str:
        """Output of a program in this environment, independent of the folder and environment of the tests."""
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]], cwd=self.home, env=self.surroundings(),
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert bool(done.returncode) == fails, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def surroundings(self) -> dict[str, str]:
        """The environment variables of its programs."""
        return {"PATH": f"{self.bin}{os.pathsep}{os.defpath}", "HOME": str(self.home), "PIP_CONFIG_FILE": os.devnull}

    def install(self, requirement: str) -> None:
        """Install with pip, from the folder of wheels alone."""
        offline = ["--no-index", "--find-links", str(self._wheels), "--disable-pip-version-check"]
        self.run("python", "-m", "pip", "install", *offline, requirement)

    def link(self, distributions: Iterable[Distribution]) -> None:
        """Bring packages over from the environment of the tests, so that pip finds them installed."""
        for found in distributions:
            for top in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
                place = self.site / top
                if not place.exists():
                    place.symlink_to(Path(str(found.locate_file(top))))


def needed(requirements: Iterable[str], extra: str = "") -> dict[str, Distribution]:
    """What these requirements bring with an extra, by name, at the versions that are installed here."""
    found: dict[str, Distribution] = {}
    waiting = [(Requirement(line), extra) for line in requirements]
    seen = set()
    while waiting:
        requirement, of = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": of}):
            continue
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        for wanted in ("", *requirement.extras):
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            if name == "wellkept":  # an extra that names another one
                waiting += [(Requirement(line), wanted) for line in requirements]
                continue
            found[name] = distribution(name)
            waiting += [(Requirement(line), wanted) for line in found[name].requires or ()]
    return found
