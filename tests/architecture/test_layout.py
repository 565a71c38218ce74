"""The tree stays small enough to be read: few modules in a folder, few files of one name, a page that shows it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "wellkept"
MODULES = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
MOST_IN_A_FOLDER = 16
MOST_OF_A_NAME = 3
MOST_LINES = 200
PARTS = {("integrations", "common"), ("integrations", "langgraph"), ("testing", "checks")}
"""Packages that the line of the package around them describes."""


def too_many(counted: Counter[str], most: int) -> dict[str, int]:
    return {name: count for name, count in counted.items() if count > most}


def test_no_folder_holds_more_than_sixteen_modules() -> None:
    assert not too_many(Counter(str(path.parent.relative_to(PACKAGE)) for path in MODULES), MOST_IN_A_FOLDER)


def test_no_file_name_stands_more_than_three_times_in_the_tree() -> None:
    assert not too_many(Counter(path.name for path in MODULES), MOST_OF_A_NAME)


def test_the_page_on_the_architecture_names_each_package_and_stays_short() -> None:
    packages = {path.parent.relative_to(PACKAGE).parts[:2] for path in MODULES} - {()}
    missing = [
        "/".join(parts)
        for parts in sorted(packages)
        if parts not in PARTS and any(f"{part}/" not in PAGE for part in parts)
    ]
    assert not missing
    assert len(PAGE.splitlines()) <= MOST_LINES
