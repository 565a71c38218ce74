"""Metrics of labelled pairs, each as a share of pairs.

Judgement metrics (precision, recall, F1, accuracy) use the relation that the result reports for the old memory. Outcome
metrics (lost, merged, left, superseded) use the store's content, whatever the judgement was: a wrong judgement that
only adds a link costs less than one that drops a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from wellkept.evaluation.labelled_files import Pair
from wellkept.evaluation.outcome import Seen
from wellkept.evaluation.ratios import (
    Column,
    Ratio,
    column,
    counts_of,
    interval,
    intervals_of,
    rate,
    recall_at,
    scores,
    values_of,
    weights,
)
from wellkept.frozen import frozen

CLASSES = ("same", "refines", "conflict", "distinct")
PRECISION = 0.92
HARMS = ("updates_lost", "false_merges", "duplicates_missed", "wrong_supersessions")


@frozen
class Case:
    """A pair and its result."""

    pair: Pair
    seen: Seen

    @property
    def gold(self) -> str:
        """The labelled class; unrelated texts count as distinct."""
        return "distinct" if self.pair.gold == "unrelated" else self.pair.gold

    @property
    def predicted(self) -> str:
        """The predicted class: `none` is distinct, `variant` is undecided and never correct."""
        match self.seen.relation:
            case "none":
                return "distinct"
            case "variant":
                return "undecided"
            case relation:
                return relation

    # -- what was done ------------------------------------------------------------------------

    @property
    def is_lost(self) -> bool:
        """Whether the new text is neither stored nor appended nor flagged."""
        return self.seen.kept == "lost"

    @property
    def is_merged_away(self) -> bool:
        """Whether one active row is left that does not contain the new text, and no open conflict names it.

        If the new text supersedes the old one or is appended to it, nothing is lost.
        """
        return self.seen.active == 1 and not self.seen.holds_new and self.seen.kept != "flagged"

    @property
    def is_left(self) -> bool:
        """Whether both texts are active rows; a link or flag does not change that."""
        return self.seen.active >= 2

    @property
    def is_wrongly_superseded(self) -> bool:
        """Whether the old memory is hidden although it holds: by a conflict, or in any way if both are true.

        A duplicate or refinement may replace the old memory without error. If it is called a conflict, it is an error,
        because the store then states that the old memory was wrong.
        """
        return self.seen.hidden == "conflict" or (self.gold == "distinct" and self.seen.hidden != "")


def measure(cases: Sequence[Case]) -> dict[str, Any]:
    """Metrics, counts and intervals of pairs in our own format.

    Returns:
        `metrics`, `counts` and `intervals` with the same names, `confusion` (label to prediction) and `outcomes` (label
        to outcome).
    """
    table = _table(cases)
    drawn = weights(len(cases))
    metrics = values_of(table)
    intervals = intervals_of(table, drawn)
    metrics["same_recall_at_precision_92"], intervals["same_recall_at_precision_92"] = _swept(cases, drawn)
    metrics["by_subtype"] = _groups(cases, {case.pair.subtype for case in cases}, lambda case: case.pair.subtype)
    by_lang = _groups(cases, {case.pair.lang for case in cases}, lambda case: case.pair.lang)
    sides = _groups(cases, {"english", "other"}, lambda case: "english" if case.pair.lang == "en" else "other")
    metrics["by_lang"] = {**sides, **by_lang, **sides}  # english and other first, never overwritten
    metrics["other_languages_below_english"] = _gap(sides)
    return {
        "metrics": metrics,
        "counts": counts_of(table),
        "intervals": intervals,
        "confusion": _crossed(cases, lambda case: case.predicted),
        "outcomes": _crossed(cases, lambda case: case.seen.outcome),
    }


def harms(cases: Sequence[Case]) -> dict[str, Ratio]:
    """Errors in the store.

    - `updates_lost`: of conflict and refines pairs, those whose new text is lost.
    - `false_merges`: of distinct, refines and conflict pairs, those merged away.
    - `duplicates_missed`: of same pairs, those that remain two rows; `repeats_flagged` are those among them that the
      store linked or listed.
    - `wrong_supersessions`: of distinct, same and refines pairs, those whose old memory was hidden wrongly;
      `replaced_by_refinement` are the refines pairs whose old memory was replaced by the more detailed text.
    - `unrelated_touched`: of unrelated pairs, those that are not two active rows. They are counted separately, so that
      easy pairs do not lower the other rates.
    """
    conflict, refines, same = _gold(cases, "conflict"), _gold(cases, "refines"), _gold(cases, "same")
    distinct = column(case.pair.gold == "distinct" for case in cases)
    unrelated = column(case.pair.gold == "unrelated" for case in cases)
    left = column(case.is_left for case in cases)
    flagged = column(case.seen.repeat_flagged for case in cases)
    wrongly = column(case.is_wrongly_superseded for case in cases)
    return {
        "updates_lost": rate(conflict + refines, column(case.is_lost for case in cases)),
        "false_merges": rate(distinct + refines + conflict, column(case.is_merged_away for case in cases)),
        "duplicates_missed": rate(same, left),
        "repeats_flagged": rate(same, left * flagged),
        "wrong_supersessions": rate(distinct + same + refines, wrongly),
        "replaced_by_refinement": rate(refines, column(case.seen.hidden == "other" for case in cases)),
        "unrelated_touched": rate(unrelated, column(case.seen.active != 2 for case in cases)),
    }


def wrong(case: Case) -> list[str]:
    """The metrics in which a pair counts as wrong; empty if none."""
    found = [] if case.predicted == case.gold else ["relation"]
    table = harms([case])
    return found + [name for name in HARMS if table[name].value == 1.0]


# --------------------------------------------------------------------------------------------


def _table(cases: Sequence[Case]) -> dict[str, Any]:
    table: dict[str, Any] = dict(harms(cases))
    for name in CLASSES:
        table[name] = scores(column(case.predicted == name for case in cases), _gold(cases, name))
    related = column(case.pair.gold != "unrelated" for case in cases)
    predicted = column(case.predicted == "distinct" for case in cases)
    table["distinct_strict"] = scores(related * predicted, related * _gold(cases, "distinct"))
    everything = column(True for _ in cases)
    table["accuracy"] = rate(everything, column(case.predicted == case.gold for case in cases))
    table["undecided"] = rate(everything, column(case.predicted == "undecided" for case in cases))
    return table


def _gold(cases: Sequence[Case], name: str) -> Column:
    return column(case.gold == name for case in cases)


def _swept(cases: Sequence[Case], drawn: Any) -> tuple[float | None, Any]:
    """Highest recall of *same* at precision .92 over all confidence thresholds.

    None if the relation model gave no opinion, because rules have no confidence.
    """
    if not any(case.seen.model for case in cases):
        return None, None
    sure = [case.seen.same for case in cases]
    gold = _gold(cases, "same")
    found = recall_at(sure, gold, precision=PRECISION, weights=np.ones((1, len(cases))))
    value = None if np.isnan(found[0]) else round(float(found[0]), 6)
    return value, interval(recall_at(sure, gold, precision=PRECISION, weights=drawn))


def _groups(cases: Sequence[Case], names: set[str], name_of: Any) -> dict[str, Any]:
    found = {}
    for name in sorted(names):
        group = [case for case in cases if name_of(case) == name]
        table = harms(group)
        accuracy = rate(column(True for _ in group), column(case.predicted == case.gold for case in group))
        rates = {harm: table[harm].value for harm in HARMS}
        found[name] = {"count": len(group), "accuracy": accuracy.value, **rates}
    return found


def _gap(sides: dict[str, Any]) -> float | None:
    english, other = sides["english"]["accuracy"], sides["other"]["accuracy"]
    return None if english is None or other is None else round(english - other, 6)


def _crossed(cases: Sequence[Case], word: Any) -> dict[str, dict[str, int]]:
    counts = Counter((case.pair.gold, word(case)) for case in cases)
    rows: dict[str, dict[str, int]] = {}
    for (gold, predicted), count in sorted(counts.items()):
        rows.setdefault(gold, {})[predicted] = count
    return rows
