"""What people install: every file of the package, the licence, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling", reason="the build tools are part of constraints/dev.txt")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("*.whl")
    return zipfile.ZipFile(file)


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert shipped == wanted
    assert "wellkept/py.typed" in shipped


def test_the_wheel_carries_licence_and_notice_and_names_both(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
    about = Parser().parsestr(wheel.read(metadata).decode("utf-8"))
    assert about["License-Expression"] == "Apache-2.0"
    assert set(about.get_all("License-File", [])) == {"LICENSE", "NOTICE"}
    assert {name.rsplit("/", 1)[-1] for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}


def test_the_wheel_installs_the_command(wheel: zipfile.ZipFile) -> None:
    (entry_points,) = [name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt")]
    assert "wellkept = wellkept.surfaces.cli:main" in wheel.read(entry_points).decode("utf-8")
