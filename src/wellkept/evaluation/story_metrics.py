"""Metrics of stories: the effect of each write, and the answers at the end.

Bootstrap intervals resample whole stories, because the writes of a story are dependent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wellkept.evaluation.labelled_files import Story
from wellkept.evaluation.ledger import QuerySeen, WriteSeen
from wellkept.evaluation.ratios import Column, Ratio, column, counts_of, intervals_of, values_of, weights
from wellkept.frozen import frozen

TOP = 3


@frozen
class StorySeen:
    """A story and its results."""

    story: Story
    writes: tuple[WriteSeen, ...]
    queries: tuple[QuerySeen, ...]
    findable: tuple[bool, ...] = ()


def measure(stories: Sequence[StorySeen]) -> dict[str, Any]:
    """Metrics, counts, intervals, and a row per story."""
    table = figures(stories)
    return {
        "metrics": values_of(table),
        "counts": counts_of(table),
        "intervals": intervals_of(table, weights(len(stories))),
        "stories": [_row(seen) for seen in stories],
    }


def figures(stories: Sequence[StorySeen]) -> dict[str, Ratio]:
    """The figures, each as sums by story.

    - `stale_first`: of queries with outdated substrings, those whose first hit contains one; `stale_first_all` is the
      same over all queries.
    - `current_first`, `current_in_top_3`: of all queries, those whose first hit (one of the first three) contains the
      answer, case-sensitive.
    - `each_once`: of all queries, those where no two of the first ten hits state the same value of one key.
    - `duplicates_missed_per_100`: restatements that are an active row in addition to another active row with the same
      value, per 100 writes.
    - `lost_updates`: of updates, refinements and late imports, those whose text is neither stored nor appended nor
      flagged; `lost_statements` is the same of first statements.
    - `wrong_supersessions`: of all writes, those that hid a memory of another key or one that still holds (see
      `Ledger`), or that were superseded at creation although they hold.
    - `stale_left`: of updates, those after which a row with an older value is still active.
    - `updates_unmarked`: the same, if such a row is neither marked as outdated nor listed as contradicted.
    - `wrong_folds`: of all writes, those that became a wording of a memory that does not say the same.
    - `wrong_marks`: of all writes, those that marked a memory as outdated or contradicted although it holds.
    - `findable`: of all writes but noise, those whose own words find them, as a row or as a wording, in the first
      three hits at the end; replaced values are asked for with `include_superseded`.
    - `noise_stored`: of noise, those that became a row.
    """

    def writes(base: Callable[[WriteSeen], bool], hit: Callable[[WriteSeen], bool]) -> Ratio:
        return _ratio([seen.writes for seen in stories], base, hit)

    def queries(base: Callable[[QuerySeen], bool], hit: Callable[[QuerySeen], bool]) -> Ratio:
        return _ratio([seen.queries for seen in stories], base, hit)

    repeats = writes(_any, lambda seen: seen.duplicate_missed)
    return {
        "stale_first": queries(lambda seen: bool(seen.query.stale), lambda seen: seen.is_stale),
        "stale_first_all": queries(_any, lambda seen: seen.is_stale),
        "current_first": queries(_any, lambda seen: seen.is_current(1)),
        "current_in_top_3": queries(_any, lambda seen: seen.is_current(TOP)),
        "each_once": queries(_any, lambda seen: seen.each_once),
        "duplicates_missed_per_100": Ratio(repeats.hits, repeats.base, scale=100.0),
        "lost_updates": writes(lambda seen: seen.write.act in ("updates", "refines", "late"), _is_lost),
        "lost_statements": writes(lambda seen: seen.write.act == "first", _is_lost),
        "wrong_supersessions": writes(_any, lambda seen: bool(seen.wrongly_hidden)),
        "stale_left": writes(lambda seen: seen.write.act == "updates", lambda seen: seen.stale_left),
        "updates_unmarked": writes(lambda seen: seen.write.act == "updates", lambda seen: seen.unmarked),
        "wrong_folds": writes(_any, lambda seen: seen.wrongly_folded),
        "wrong_marks": writes(_any, lambda seen: bool(seen.wrongly_marked)),
        "findable": _ratio([seen.findable for seen in stories], _any, bool),
        "noise_stored": writes(lambda seen: seen.write.act == "noise", lambda seen: seen.kept == "stored"),
    }


def wrong_write(seen: WriteSeen) -> list[str]:
    """The metrics in which a write counts as wrong."""
    found = {
        "duplicates_missed": seen.duplicate_missed,
        "lost_updates": seen.write.act in ("updates", "refines", "late") and _is_lost(seen),
        "lost_statements": seen.write.act == "first" and _is_lost(seen),
        "wrong_supersessions": bool(seen.wrongly_hidden),
        "stale_left": seen.stale_left,
        "updates_unmarked": seen.unmarked,
        "wrong_folds": seen.wrongly_folded,
        "wrong_marks": bool(seen.wrongly_marked),
        "noise_stored": seen.write.act == "noise" and seen.kept == "stored",
    }
    return [name for name, is_so in found.items() if is_so]


def wrong_query(seen: QuerySeen) -> list[str]:
    """The metrics in which a query counts as wrong."""
    found = {
        "stale_first": seen.is_stale,
        "current_first": not seen.is_current(1),
        "current_in_top_3": not seen.is_current(TOP),
        "each_once": not seen.each_once,
    }
    return [name for name, is_so in found.items() if is_so]


def _any(_: object) -> bool:
    return True


def _is_lost(seen: WriteSeen) -> bool:
    return seen.kept == "lost"


def _ratio(stories: Sequence[Sequence[Any]], base: Callable[[Any], bool], hit: Callable[[Any], bool]) -> Ratio:
    counted: Column = column(sum(base(item) for item in items) for items in stories)
    hits: Column = column(sum(base(item) and hit(item) for item in items) for items in stories)
    return Ratio(hits, counted)


def _row(seen: StorySeen) -> dict[str, Any]:
    table = figures([seen])
    counted = {name: ratio.count[0] for name, ratio in table.items() if name != "stale_first_all"}
    return {
        "id": seen.story.id,
        "lang": seen.story.lang,
        "writes": len(seen.writes),
        "queries": len(seen.queries),
        **{
            ("duplicates_missed" if name == "duplicates_missed_per_100" else name): count
            for name, count in counted.items()
        },
    }
