"""The table in Markdown, from the figures of `wellkept.evaluation.story_metrics`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wellkept.evaluation.ratios import Ratio
from wellkept.evaluation.story_metrics import StorySeen, figures

COLUMNS = {
    "first answer outdated": "stale_first",
    "current first": "current_first",
    "current in first 3": "current_in_top_3",
    "answers without repeats": "each_once",
    "duplicates left per 100 writes": "duplicates_missed_per_100",
    "updates lost": "lost_updates",
    "updates left unmarked": "updates_unmarked",
    "writes that hid what holds": "wrong_supersessions",
}
"""Title of a column and its figure; `figures` defines them."""


def row(seen: Sequence[StorySeen]) -> dict[str, str]:
    """The cells of one system."""
    found: Mapping[str, Ratio] = figures(seen)
    return {title: _cell(found[name]) for title, name in COLUMNS.items()}


def markdown(rows: Mapping[str, Mapping[str, str]]) -> str:
    """All systems, one a line."""
    lines = ["| | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    lines += [f"| {name} | " + " | ".join(cells[title] for title in COLUMNS) + " |" for name, cells in rows.items()]
    return "\n".join(lines)


def _cell(ratio: Ratio) -> str:
    value = ratio.value
    if value is None:
        return "–"
    return f"{value:.1f}" if ratio.scale > 1 else f"{100 * value:.1f} %"
