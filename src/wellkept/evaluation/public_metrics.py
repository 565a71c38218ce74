"""Metrics of public sentence pairs: per file, then the mean over files, never pooled.

Public sets differ in size and in meaning (questions, captions, news); pooling would let the largest dominate. Their
labels are less specific than ours, so only unambiguous cases count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from wellkept.evaluation.pair_metrics import Case
from wellkept.evaluation.ratios import (
    Column,
    Ratio,
    column,
    counts_of,
    interval,
    rate,
    values_of,
    weights,
)


def measure(files: Sequence[tuple[str, Sequence[Case]]]) -> dict[str, Any]:
    """Metrics by file and their means.

    Args:
        files: File names with the results of their pairs.

    Returns:
        `metrics` and `intervals` of the means, and `files` with a row per file.
    """
    rows: list[dict[str, Any]] = []
    drawn: dict[str, list[Any]] = {}
    for name, cases in files:
        table = figures(cases)
        rows.append(
            {
                "file": name,
                "n": len(cases),
                "labels": dict(sorted(Counter(case.pair.label for case in cases).items())),
                "metrics": values_of(table),
                "counts": counts_of(table),
            }
        )
        again = weights(len(cases))
        for figure, ratio in table.items():
            if ratio.value is not None:
                drawn.setdefault(figure, []).append(ratio.resampled(again))
    names = list(figures(()))
    return {
        "metrics": {name: _mean([row["metrics"][name] for row in rows]) for name in names},
        "intervals": {name: interval(np.mean(drawn[name], axis=0)) if name in drawn else None for name in names},
        "files": rows,
    }


def figures(cases: Sequence[Case]) -> dict[str, Ratio]:
    """The figures of one file.

    - `swallowed_contradictions`: of contradictions, those whose new text is neither stored nor appended nor flagged.
    - `related_merged`: of related and unrelated pairs, those that became one active row.
    - `duplicates_found`: of duplicates, those that became one active row; `duplicates_judged_same`: judged *same*.
    - `contradictions_judged`: of contradictions, those judged a conflict.
    - `others_merged`: of neutral, entailment and other pairs, those that became one active row. An entailment may be a
      duplicate, so this is no error rate.
    - `wrong_supersessions`: of all pairs except contradictions, those whose old memory was hidden by a conflict.
    """
    one = column(case.seen.active == 1 for case in cases)
    contradiction, duplicate = _gold(cases, "conflict"), _gold(cases, "same")
    return {
        "swallowed_contradictions": rate(contradiction, column(case.is_lost for case in cases)),
        "related_merged": rate(_gold(cases, "related") + _gold(cases, "unrelated"), one),
        "duplicates_found": rate(duplicate, one),
        "duplicates_judged_same": rate(duplicate, column(case.predicted == "same" for case in cases)),
        "contradictions_judged": rate(contradiction, column(case.predicted == "conflict" for case in cases)),
        "others_merged": rate(_gold(cases, "neutral") + _gold(cases, "entailment") + _gold(cases, "other"), one),
        "wrong_supersessions": rate(1 - contradiction, column(case.seen.hidden == "conflict" for case in cases)),
    }


def wrong(case: Case) -> list[str]:
    """The metrics in which a pair counts as wrong."""
    table = figures([case])
    bad = ("swallowed_contradictions", "related_merged", "wrong_supersessions")
    missed = ("duplicates_found", "contradictions_judged")
    return [name for name in bad if table[name].value == 1.0] + [name for name in missed if table[name].value == 0.0]


def _gold(cases: Sequence[Case], name: str) -> Column:
    return column(case.pair.gold == name for case in cases)


def _mean(found: Sequence[float | None]) -> float | None:
    known = [value for value in found if value is not None]
    return round(sum(known) / len(known), 6) if known else None
