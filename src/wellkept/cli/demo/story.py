"""The events of the demo, without any formatting: write, query, undo, count.

No outcome is predefined. The sample contains only what the agent wrote; everything else is read
from the store afterwards.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

from wellkept.core.records.lifecycle import effective_time
from wellkept.engine.base.inputs import moment
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import WellkeptError
from wellkept.frozen import frozen
from wellkept.types import Conflict, Filter, Hit, Memory, WriteResult

QUESTION = "Which Node version do we build with?"
_SAMPLE = "month.jsonl"
_MAX_DEPTH = 20


class SampleClock:
    """A clock that follows the sample: its time is that of the current line."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        """The current time."""
        return self.now

    def later(self, minutes: int) -> None:
        """Advance the clock after the last line."""
        self.now += timedelta(minutes=minutes)


@frozen
class Line:
    """One line of the sample: a text with its time and its fields."""

    number: int
    at: datetime
    content: str
    fields: Mapping[str, Any]
    on_conflict: Any = None

    @property
    def kind(self) -> str:
        """The kind given in the line."""
        return str(self.fields.get("kind", "semantic"))


@frozen
class Step:
    """A line and its result, or the error that rejected it."""

    line: Line
    became: WriteResult | WellkeptError

    @property
    def result(self) -> WriteResult | None:
        """The write result; None when the write was rejected."""
        return self.became if isinstance(self.became, WriteResult) else None

    @property
    def outcome(self) -> str:
        """The outcome; `refused` for an error."""
        return self.became.outcome if isinstance(self.became, WriteResult) else "refused"

    @property
    def made(self) -> Memory | None:
        """The memory created by this line; None when it created none."""
        return self.result.memory if self.result and self.result.outcome in ("created", "superseded") else None

    @property
    def is_history(self) -> bool:
        """Whether the text states an older fact, stored as history behind its newer replacement."""
        return self.made is not None and self.made.status == "superseded"


@frozen
class Figures:
    """The month in numbers, named as in the JSON.

    Attributes:
        memories: Current ones; `history` counts those behind them.
        paraphrases_kept: Texts kept as wordings of the memories that they repeat.
        conflicts_to_look_at: Open conflicts.
        conflicts_expired: Conflicts that expired unresolved, with both texts kept.
        outcomes: Writes by outcome; with `errors` they add up to `writes`.
        degraded: Writes by the component that was missing.
    """

    writes: int
    memories: int
    history: int
    duplicates_stopped: int
    paraphrases_kept: int
    updates_applied: int
    conflicts_to_look_at: int
    conflicts_expired: int
    outcomes: Mapping[str, int]
    errors: int
    degraded: Mapping[str, int]


@frozen
class Answer:
    """One query: its hits, and the texts that the first hit replaced, oldest first."""

    query: str
    hits: tuple[Hit, ...]
    timeline: tuple[Memory, ...]


@frozen
class TakenBack:
    """One supersession, undone and redone, with the current texts at each point.

    Attributes:
        restored: Whether the redo restored every field of both memories.
    """

    step: Step
    undo: int
    redo: int
    before: tuple[str, ...]
    after_undo: tuple[str, ...]
    after_redo: tuple[str, ...]
    restored: bool


@frozen
class Story:
    """All events, for the terminal and for `--json`."""

    steps: tuple[Step, ...]
    figures: Figures
    conflicts: tuple[Conflict, ...]
    answer: Answer
    taken_back: TakenBack | None
    embedder: str

    @property
    def numbers(self) -> Mapping[str, int]:
        """Memory id to the number of the line that created it."""
        return numbers(self.steps)


def sample() -> tuple[Line, ...]:
    """The lines of the sample, in the order of writing."""
    text = files(__package__).joinpath(_SAMPLE).read_text(encoding="utf-8")
    return tuple(_line(number, json.loads(raw)) for number, raw in enumerate(text.splitlines(), start=1))


def _line(number: int, raw: dict[str, Any]) -> Line:
    at = moment("t", raw.pop("t"))
    if at is None:
        raise ValueError(f"line {number} of {_SAMPLE} has no time")
    return Line(number, at, raw.pop("content"), on_conflict=raw.pop("on_conflict", None), fields=raw)


def write(store: MemoryStore, line: Line) -> Step:
    """Write one line through the gate; an error is recorded as its result."""
    try:
        return Step(line, store.remember(line.content, on_conflict=line.on_conflict, **line.fields))
    except WellkeptError as error:
        return Step(line, error)


def numbers(steps: Sequence[Step]) -> dict[str, int]:
    """Memory id to the number of the line that created it: line numbers are easier to read than ids."""
    return {step.made.id: step.line.number for step in steps if step.made is not None}


def figures(store: MemoryStore, steps: Sequence[Step]) -> Figures:
    """Count the outcomes of the lines and the contents of the store."""
    outcomes = Counter(step.result.outcome for step in steps if step.result is not None)
    degraded = Counter(word for step in steps if step.result is not None for word in step.result.degraded)
    rows = store.stats().memories
    unsettled = [conflict for conflict in store.conflicts(settled=True) if conflict.resolution is None]
    still_open = len(store.conflicts())
    return Figures(
        writes=len(steps),
        memories=rows.get("active", 0),
        history=rows.get("superseded", 0),
        duplicates_stopped=outcomes["duplicate"] + outcomes["reused"],
        paraphrases_kept=outcomes["restated"],
        updates_applied=outcomes["superseded"] + outcomes["evolved"] + sum(step.is_history for step in steps),
        conflicts_to_look_at=still_open,
        conflicts_expired=len(unsettled) - still_open,
        outcomes=dict(sorted(outcomes.items())),
        errors=sum(step.result is None for step in steps),
        degraded=dict(sorted(degraded.items())),
    )


def ask(store: MemoryStore, query: str) -> Answer:
    """Run a query, then follow the `supersedes` links of the first hit."""
    hits = store.recall(query, limit=3)
    if not hits:
        return Answer(query, (), ())
    head = hits[0].memory
    behind = store.neighbors(head.id, rel="supersedes", direction="out", depth=_MAX_DEPTH)
    chain = [head, *(neighbour.memory for neighbour in behind)]
    chain.sort(key=lambda memory: (effective_time(memory, memory.created_at), memory.id))
    return Answer(query, hits, tuple(chain))


def take_back(store: MemoryStore, steps: Sequence[Step], clock: SampleClock) -> TakenBack | None:
    """Undo the newest supersession and redo it; None when there is none."""
    step = next((step for step in reversed(steps) if step.outcome == "superseded"), None)
    if step is None or step.result is None or step.made is None:
        return None
    ids = (step.made.id, *(link.dst for link in step.result.links if link.rel == "supersedes"))
    wanted = Filter(ids=ids, statuses=("active", "superseded"))
    before = store.list(wanted)
    clock.later(1)
    undo = store.undo(step.result.entry)
    undone = store.list(wanted)
    clock.later(1)
    redo = store.undo(undo)
    redone = store.list(wanted)
    return TakenBack(step, undo, redo, _current(before), _current(undone), _current(redone), redone == before)


def _current(memories: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(memory.content for memory in memories if memory.status == "active")
