"""docs/requirements.md answers for every numbered requirement: a test that exists, or why there is none.

The table has the columns `number` and `test or why not`. A test is written `tests/…/test_x.py::test_name`
in backticks; a reason is a sentence.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "requirements.md"
LAST = {"S0": 57, "S1": 56, "S2": 61, "S3": 30, "S4": 22}
NUMBERS = tuple(f"{seed}-{number}" for seed, last in LAST.items() for number in range(1, last + 1))

CITED = re.compile(r"\b(S[0-4]-\d+)\b")
TEST = re.compile(r"`(?P<file>tests/[\w./-]+\.py)(?:::(?P<name>[\w:]+))?`")
ROW = re.compile(r"^\|\s*`?(?P<number>S\d-\d+)`?\s*\|(?P<answer>.*)\|\s*$")


def rows(text: str) -> list[tuple[str, str]]:
    """(number, answer) of every table row that starts with a number."""
    return [(row["number"], row["answer"].strip()) for line in text.splitlines() if (row := ROW.match(line))]


@cache
def functions_in(path: Path) -> frozenset[str]:
    """Names of functions and classes of a file, methods also as `Class::method`."""
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, kinds)}
    return frozenset(names)


def problems(text: str, root: Path) -> Iterator[str]:
    """Everything that makes the table untrue or incomplete."""
    table = rows(text)
    given = [number for number, _ in table]
    yield from (f"{number}: not in the table" for number in NUMBERS if number not in given)
    yield from (f"{number}: there is no such requirement" for number in given if number not in NUMBERS)
    yield from (f"{number}: {given.count(number)} rows" for number in sorted(set(given)) if given.count(number) > 1)
    for number, answer in table:
        tests = list(TEST.finditer(answer))
        if not tests and len(answer.split()) < 3:
            yield f"{number}: neither a test nor a reason: {answer!r}"
        for test in tests:
            path = root / test["file"]
            if not path.is_file():
                yield f"{number}: no file {test['file']}"
            elif test["name"] and test["name"] not in functions_in(path):
                yield f"{number}: no test {test['name']} in {test['file']}"


def test_every_requirement_has_a_test_that_exists_or_a_reason() -> None:
    assert TABLE.is_file(), "docs/requirements.md is missing"
    found = list(problems(TABLE.read_text("utf-8"), ROOT))
    assert not found, "\n".join(found)


def test_tests_cite_only_requirements_that_exist() -> None:
    unknown = [
        f"{path.relative_to(ROOT)}: {number}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path != Path(__file__)
        for number in CITED.findall(path.read_text("utf-8"))
        if number not in NUMBERS
    ]
    assert not unknown, "\n".join(unknown)


COMPLETE = "\n".join(f"| {number} | belongs to the host |" for number in NUMBERS)
HERE = "tests/architecture/test_requirements_table.py"


@pytest.mark.parametrize(
    ("line", "replacement", "problem"),
    [
        ("| S0-1 | belongs to the host |", "", "S0-1: not in the table"),
        ("| S0-1 | belongs to the host |", "| S0-1 | todo |", "S0-1: neither"),
        ("| S0-1 | belongs to the host |", "| S0-1 | `tests/nowhere.py::test_x` |", "S0-1: no file"),
        ("| S0-1 | belongs to the host |", f"| S0-1 | `{HERE}::test_nothing` |", "S0-1: no test"),
        (
            "| S4-22 | belongs to the host |",
            "| S4-22 | belongs to the host |\n| S4-23 | one too many |",
            "S4-23: there",
        ),
        (
            "| S1-2 | belongs to the host |",
            "| S1-2 | first of two rows |\n| S1-2 | second of two rows |",
            "S1-2: 2 rows",
        ),
    ],
)
def test_a_gap_in_the_table_is_noticed(line: str, replacement: str, problem: str) -> None:
    assert line in COMPLETE
    found = list(problems(COMPLETE.replace(line, replacement), ROOT))
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_a_complete_table_with_a_real_test_is_accepted() -> None:
    named = f"| S0-1 | `{HERE}::test_a_complete_table_with_a_real_test_is_accepted` |"
    assert not list(problems(COMPLETE.replace("| S0-1 | belongs to the host |", named), ROOT))
