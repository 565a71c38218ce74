"""The types a user sees: `typing_tests/` is checked as a user's own code would be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "typing_tests").glob("*.py"))


def mypy(path: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "--enable-error-code=ignore-without-code",
        "--config-file=", f"--cache-dir={cache}", str(path),
    ]  # fmt: skip
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": str(ROOT / "src")}
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What mypy has read of the package is read once."""
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.slow
def test_a_type_checker_accepts_what_it_should_and_finds_what_it_should(cache: Path) -> None:
    """`refused.py` ignores one error a line; an error that mypy does not find makes its `ignore` an error."""
    assert [path.name for path in FILES] == ["accepted.py", "refused.py"]
    for path in FILES:
        found = mypy(path, cache)
        assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.slow
def test_the_check_of_types_can_fail(tmp_path: Path, cache: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import wellkept\nwellkept.open("memory:").remember("text", knd="fact")\n', "utf-8")
    found = mypy(wrong, cache)
    assert found.returncode == 1
    assert 'Unexpected keyword argument "knd"' in found.stdout
