"""The page about operations shows the table of the code, row by row."""

from __future__ import annotations

from pathlib import Path

from wellkept.operations.registry import OPERATIONS, Operation

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
BARS = 7
"""Of a row about an operation; other tables of the page have fewer columns."""


def shown(row: Operation) -> str:
    """A row as the page has it."""
    route = f"`{row.route.method} {row.route.path}`" if row.route is not None else "–"
    repeated = "yes" if row.idempotent else "no"
    return f"| `{row.name}` | {row.effect} | {repeated} | {row.scope} | {route} | {row.toolset} |"


def test_the_page_lists_every_operation_as_it_is() -> None:
    lines = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `") and line.count("|") == BARS
    ]
    expected = [shown(row) for row in OPERATIONS]
    assert lines == expected, "Write these rows:\n" + "\n".join(expected)
