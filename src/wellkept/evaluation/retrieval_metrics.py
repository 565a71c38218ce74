"""Retrieval metrics: the share of evidence among the first hits.

Recall is the official definition: the share of evidence turns that the first k hits contain. A memory merged from
several texts contains all their turns, so merging does not count as loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wellkept.evaluation.ratios import (
    Column,
    Ratio,
    column,
    counts_of,
    interval,
    intervals_of,
    values_of,
    weights,
)
from wellkept.evaluation.retrieval_reading import ADVERSARIAL, Format, Question
from wellkept.frozen import frozen

DEPTHS = (5, 10)
_NARROWER: Mapping[Format, Mapping[str, frozenset[str]]] = {
    "locomo": {"no_adversarial": frozenset((ADVERSARIAL,))},
    # These two name more messages than ten hits can contain.
    "beam": {"no_lists": frozenset(("summarization", "event_ordering"))},
}
"""Metrics over fewer questions, and the groups they exclude."""


@frozen
class Answer:
    """Hits of a question, best first.

    Attributes:
        found: Source ids of each hit.
        tokens: Estimated length of each hit.
    """

    question: Question
    found: tuple[tuple[str, ...], ...]
    tokens: tuple[int, ...]

    def said(self, depth: int) -> frozenset[str]:
        """Source ids of the first hits."""
        return frozenset(one for sources in self.found[:depth] for one in sources)

    def recall(self, depth: int) -> float:
        """Share of the evidence that the first hits contain.

        Example:
            >>> asked = Question("1", "c", "Who?", "temporal", ("D1:1", "D1:2"))
            >>> Answer(asked, (("D1:2",), ("D3:4",)), (5, 5)).recall(5)
            0.5
        """
        evidence = frozenset(self.question.evidence)
        return len(evidence & self.said(depth)) / len(evidence)


def measure(answers: Sequence[Answer], form: Format) -> dict[str, Any]:
    """Metrics, intervals and counts of one setting.

    Raises:
        ValueError: There are no answers.
    """
    if not answers:
        raise ValueError("nothing was asked")
    table = figures(answers, form)
    return {
        "metrics": values_of(table),
        "intervals": intervals_of(table, weights(len(answers))),
        "counts": counts_of(table),
    }


def figures(answers: Sequence[Answer], form: Format) -> dict[str, Any]:
    """The figures.

    - `recall_at_K`: mean over questions of the share of their evidence among the first K hits; with
      `_no_adversarial` (LoCoMo) or `_no_lists` (BEAM) over fewer questions.
    - `hit_any_at_K`, `hit_all_at_K`: questions with any, with all of their evidence there.
    - `tokens_at_K`: mean length of the first K hits.
    - `by_group`: recall of each sort of question, and how many there are.
    """
    table: dict[str, Any] = {}
    everything = column(1.0 for _ in answers)
    kept = {
        name: column(answer.question.group not in left_out for answer in answers)
        for name, left_out in _NARROWER[form].items()
    }
    for depth in DEPTHS:
        recall = column(answer.recall(depth) for answer in answers)
        table[f"recall_at_{depth}"] = Ratio(recall, everything)
        for name, some in kept.items():
            table[f"recall_at_{depth}_{name}"] = Ratio(recall * some, some)
    for depth in DEPTHS:
        recall = column(answer.recall(depth) for answer in answers)
        table[f"hit_any_at_{depth}"] = Ratio(column(share > 0 for share in recall), everything)
        table[f"hit_all_at_{depth}"] = Ratio(column(share == 1 for share in recall), everything)
        table[f"tokens_at_{depth}"] = Ratio(column(sum(answer.tokens[:depth]) for answer in answers), everything)
    table["by_group"] = {
        name: {f"recall_at_{depth}": _of_group(answers, name, depth) for depth in DEPTHS}
        for name in sorted({answer.question.group for answer in answers})
    }
    return table


def compare(answers: Sequence[Answer], others: Sequence[Answer], form: Format) -> dict[str, Any]:
    """Gain of the first setting over the second, with intervals.

    Both settings answer the same questions, and each resample draws the same questions for both (paired bootstrap).

    Returns:
        `difference` and `intervals` of each recall, and the number of questions that got `better` and `worse`.
    """
    drawn = weights(len(answers))
    ours, theirs = figures(answers, form), figures(others, form)
    names = [name for name in ours if name.startswith("recall_at_")]
    gains = {name: ours[name].resampled(drawn) - theirs[name].resampled(drawn) for name in names}
    deepest = DEPTHS[-1]
    pairs = [(one.recall(deepest), other.recall(deepest)) for one, other in zip(answers, others, strict=True)]
    return {
        "difference": {name: _minus(ours[name].value, theirs[name].value) for name in names},
        "intervals": {name: interval(gains[name]) for name in names},
        "better": sum(one > other for one, other in pairs),
        "worse": sum(one < other for one, other in pairs),
    }


def ceiling(questions: Sequence[Question], sources: Callable[[str], frozenset[str]]) -> float:
    """Share of the evidence that any document contains: the upper limit of recall.

    Args:
        questions: The questions.
        sources: Source ids of the documents of a conversation.
    """
    shares = [len(known & sources(one.conversation)) / len(known) for one in questions if (known := set(one.evidence))]
    return round(sum(shares) / len(shares), 6) if shares else 0.0


def _of_group(answers: Sequence[Answer], group: str, depth: int) -> Ratio:
    of_group: Column = column(answer.question.group == group for answer in answers)
    return Ratio(column(answer.recall(depth) for answer in answers) * of_group, of_group)


def _minus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else round(one - other, 6)
