"""Stories with questions: each is answered at once, and the figures are taken at the end of the story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wellkept.evaluation.asked.readers import says
from wellkept.evaluation.labelled_files import Story, Write
from wellkept.evaluation.ledger import Ledger, QuerySeen
from wellkept.evaluation.ratios import Ratio, column
from wellkept.frozen import frozen
from wellkept.types import Conflict, Memory

TOP = 3


@frozen(kw_only=True)
class StoryEnd:
    """A story at its end.

    Attributes:
        story: The story.
        twice: Restatements that are listed as a row of their own.
        unmarked: Updates after which an older value is neither superseded nor marked.
        folds: Writes that stand behind a memory that does not say the same.
        marks: Writes because of which a memory is marked or superseded although it holds.
        asked: Questions that were answered.
        tokens: Length of the questions as text for an agent, in estimated tokens.
        queries: The queries, with the hits as texts and the first head alone.
        heads: The text of the first head of each query.
        lost: Texts other than noise that are in no row.
    """

    story: Story
    twice: int
    unmarked: int
    folds: int
    marks: int
    asked: int
    tokens: int
    queries: tuple[QuerySeen, ...]
    heads: tuple[str, ...]
    lost: int


@frozen
class Written:
    """A write of a story and its row; empty if it has none."""

    write: Write
    row_id: str


def end_of(
    writes: Sequence[Written], rows: Mapping[str, Memory], conflicts: Sequence[Conflict], ledger: Ledger
) -> dict[str, int]:
    """The counts of `StoryEnd` that follow from the rows at the end.

    Args:
        writes: The writes, in order.
        rows: The rows of the story by id, as they are at the end.
        conflicts: The open conflicts and marks.
        ledger: What each row says.
    """
    marks = [item for item in conflicts if item.kind == "outdated" and item.resolution is None]
    marked = {item.a for item in marks}
    listed = {one: row for one, row in rows.items() if row.status == "active"}
    twice = unmarked = folds = wrong_marks = lost = 0
    told: dict[str, set[str]] = {}
    for one in writes:
        write, row = one.write, rows.get(one.row_id)
        if write.act != "noise" and (row is None or row.status == "erased"):
            lost += 1
        if write.act == "restates" and row is not None and row.status == "active":
            others = (ledger.said(other) for other in listed if other != row.id)
            twice += any(says(said, write.key, write.value) for said in others)
        if write.act == "updates":
            older = told.get(write.key, set()) - {write.value}
            left = (other for other in listed if other not in marked and other != one.row_id)
            unmarked += any(
                said.key == write.key and said.value in older for other in left for said in ledger.said(other)
            )
        if row is not None and row.status == "wording" and write.act not in ("restates", "updates"):
            head = ledger.said(row.superseded_by)
            folds += not (write.act in ("late", "refines") and says(head, write.key, write.value))
        if write.act not in ("restates", "updates") and row is not None:
            hidden = [item.a for item in marks if item.b == row.id]
            hidden += [
                other.id for other in rows.values() if other.status == "superseded" and other.superseded_by == row.id
            ]
            wrong_marks += any(_holds(ledger, other, write.key) for other in hidden)
        if write.act in ("first", "updates", "late"):
            told.setdefault(write.key, set()).add(write.value)
    return {"twice": twice, "unmarked": unmarked, "folds": folds, "marks": wrong_marks, "lost": lost}


def _holds(ledger: Ledger, row_id: str, key: str) -> bool:
    """Whether a row states a current value, or something of another key."""
    return any(said.key != key or said.value == ledger.current(said.key) for said in ledger.said(row_id))


def figures(ends: Sequence[StoryEnd]) -> dict[str, Ratio]:
    """The figures at the end of stories, each as sums by story."""
    writes = column(len(end.story.writes) for end in ends)
    updates = column(sum(write.act == "updates" for write in end.story.writes) for end in ends)
    queries = column(len(end.queries) for end in ends)
    changed = column(sum(bool(seen.query.stale) for seen in end.queries) for end in ends)
    return {
        "shown_twice_per_100": Ratio(column(end.twice for end in ends), writes, scale=100.0),
        "unmarked": Ratio(column(end.unmarked for end in ends), updates),
        "stale_first": Ratio(column(map(_stale, ends)), changed),
        "current_first": Ratio(column(sum(seen.is_current(1) for seen in end.queries) for end in ends), queries),
        "current_in_top_3": Ratio(column(sum(seen.is_current(TOP) for seen in end.queries) for end in ends), queries),
        "each_once": Ratio(column(sum(seen.each_once for seen in end.queries) for end in ends), queries),
        "wrong_folds": Ratio(column(end.folds for end in ends), writes),
        "wrong_marks": Ratio(column(end.marks for end in ends), writes),
        "lost": Ratio(column(end.lost for end in ends), writes),
        "questions_per_100": Ratio(column(end.asked for end in ends), writes, scale=100.0),
        "tokens_per_100": Ratio(column(end.tokens for end in ends), writes, scale=100.0),
    }


def _stale(end: StoryEnd) -> int:
    """Queries whose first head holds an outdated word."""
    pairs = zip(end.queries, end.heads, strict=True)
    return sum(any(piece in head for piece in seen.query.stale) for seen, head in pairs)
