"""Inputs and results of reading: filters, recall options, hits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypedDict

from wellkept.errors import InvalidField
from wellkept.frozen import frozen
from wellkept.types.comparisons import Conflict
from wellkept.types.links import Link
from wellkept.types.memories import Memory
from wellkept.types.showing import html_table, line, shown
from wellkept.types.weights import HybridWeights, WeightsName
from wellkept.types.words import Degradation, Json, Kind, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RecallMode: TypeAlias = Literal["default", "semantic", "hybrid"]
MoveReason: TypeAlias = Literal["outdates", "contradicts", "updates", "updates_part", "replaces"]


@frozen(kw_only=True)
class Filter:
    """Which memories to read; an empty tuple or None means "any".

    Attributes:
        ids: Exact ids.
        id_prefix: The beginning of an id.
        id_end: The end of an id, as shown in tables.
        hashes: Aliases: rows that any of these hashes points at.
        subject / attribute: The slot, compared by `core.text.forms.slot_key`; None for any.
        ongoing: True for rows without `ended_at`.
        created_from: Rows created at or after this time.
        created_to: Rows created before this time.
        min_importance: Rows of at least this importance.
        sources: Rows from any of these sources, compared exactly.
        metadata: Rows whose metadata has each of these keys with exactly this value.
        unchecked: True for rows stored while a check could not run.
        embedded: True for rows with a vector, False for rows without.
        after: (created_at, id) of the last row of the previous page.
        before: (created_at, id): rows before this one; if there are more than the limit, the last ones.

    `tags`, `created_to`, `min_importance`, `sources` and `metadata` are checked by the engine and are not passed
    to a backend.
    """

    ids: tuple[str, ...] | None = None
    id_prefix: str = ""
    id_end: str = ""
    hashes: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    statuses: tuple[Status, ...] = ("active",)
    subject: str | None = None
    attribute: str | None = None
    tags: tuple[str, ...] = ()
    ongoing: bool | None = None
    created_from: datetime | None = None
    unchecked: bool | None = None
    embedded: bool | None = None
    after: tuple[datetime, str] | None = None
    before: tuple[datetime, str] | None = None
    created_to: datetime | None = None
    min_importance: float | None = None
    sources: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)


@frozen
class Neighbours:
    """Candidates of one query from a backend: ids and their stored vectors, row by row."""

    ids: tuple[str, ...]
    vectors: NDArray[np.float32]


@frozen(kw_only=True)
class ExpandSpec:
    """Which linked memories to add after the hits.

    Attributes:
        rels: Relations to follow, outwards from a hit.
        depth: 1 to 20 steps.
        cap: Maximum number of memories to add.
        score: The score given to them.
    """

    rels: tuple[str, ...] = ("refines", "example_of")
    depth: int = 1
    cap: int = 5
    score: float = 0.7

    def __post_init__(self) -> None:
        rels: Any = self.rels  # unchecked input
        if isinstance(rels, str) or not rels or not all(isinstance(rel, str) and rel for rel in rels):
            raise InvalidField(f"{rels!r} names no relations", where="expand.rels", todo='Use ("refines",)')
        value: Any
        for name, least, most in (("depth", 1, 20), ("cap", 0, 1_000)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                todo = f"Use a whole number from {least} to {most}"
                raise InvalidField(f"{value!r} is not allowed", where=f"expand.{name}", todo=todo)
        value = self.score
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InvalidField(f"{value!r} is not a score", where="expand.score", todo="Use a number")


class RecallOptions(TypedDict, total=False):
    """The advanced options of `recall`.

    Attributes:
        weights: For `mode="hybrid"`: a value, or the name of a preset.
        overfetch: Number of candidates scored per requested hit, 1 to 100.
        expand: Add linked memories after the hits.
        as_of: Read the store as it was at this time, from the journal.
        valid_at: Return what was true in the world at this time.
        grouped: Show duplicates and paraphrases once, by the newest, with the others listed under it. True
            also asks the relation model, False shows each hit separately. The default in `mode="default"`
            groups by the words alone.
        rerank: False skips the reranker that the store was opened with.
        min_score: Leave out memories whose relevance is below this, 0 to 1; 0 for none. By default 0.3, and 0 for
            weights that count neither meaning nor words.
    """

    weights: HybridWeights | WeightsName | None
    overfetch: int
    expand: ExpandSpec | None
    as_of: datetime | str | None
    valid_at: datetime | str | None
    grouped: bool | None
    rerank: bool
    min_score: float | None


class PackOptions(TypedDict, total=False):
    """The advanced options of `pack`.

    Attributes:
        min_score: Leave out memories whose relevance is below this, 0 to 1; 0 for none. By default 0.3.
    """

    min_score: float | None


@frozen
class Move:
    """Why a hit precedes one that fits the query better: it is the newer of the two.

    Attributes:
        over: Id of the best hit that it was put before.
        why: It probably `outdates` the other (a mark), `contradicts` it (a conflict), `updates` it (by the
            relation model's opinion for this query), `updates_part` of it (by an answer; the rest holds) or `replaces`
            it (the other is superseded).
        probability: Of that, 0 to 1; None if no model gave one.
    """

    over: str
    why: MoveReason
    probability: float | None = None


@frozen
class Hit:
    """One result of `recall`.

    Attributes:
        memory: The memory.
        score: The rank score, higher is better.
        parts: The parts of the score by name; with `explain` also those that did not count.
        conflicts: Open conflicts of this memory.
        degraded: Components that failed; after an embedder outage the score uses words alone.
        rank: Rank in the result, from 1.
        scored_rank: Rank by the score alone, before the newer of two contradicting memories was put first;
            0 for a memory added over a link.
        weights: The weight of each part, by name; weights of missing parts are shared among the others.
        via: The link it was added over; None for a memory found by the query itself.
        repeats: Other hits that say the same, newest first. The hit takes the rank of the best of them
            and keeps its own score.
        wording: The wording that fits the query better than its own text, if any.
        moved: Why it precedes a hit that fits the query better; None where the score alone gave the place.
        question: With `explain`, the id of the most valuable open question about this memory, as the memory in
            question or as a candidate; otherwise empty.
    """

    memory: Memory
    score: float
    parts: Mapping[str, float]
    conflicts: tuple[Conflict, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    rank: int = 0
    scored_rank: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)
    via: Link | None = None
    repeats: tuple[Memory, ...] = ()
    wording: Memory | None = None
    moved: Move | None = None
    question: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the memory and its repeats."""
        return (self.memory.id, *(row.id for row in self.repeats))

    def __str__(self) -> str:
        return f"{self.score:.3f} {self.memory}{' (conflict)' if self.conflicts else ''}"

    def __repr__(self) -> str:
        counted = {"conflicts": len(self.conflicts) or None, "repeats": len(self.repeats) or None}
        said = {"rank": self.rank or None, "score": round(self.score, 4), "id": self.memory.id}
        return shown("Hit", {**said, **counted, "kind": self.memory.kind, "content": self.memory.content})

    def _repr_html_(self) -> str:
        return Hits([self])._repr_html_()


@frozen
class LeftOut:
    """A memory that was considered and is not in the result.

    Attributes:
        memory: The memory.
        why: The reason, in words.
        score: Its score, if one was computed.
        parts: The parts of the score that were computed.
    """

    memory: Memory
    why: str
    score: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)


class Hits(tuple[Hit, ...]):
    """The result of `recall`: a tuple of hits, best first.

    Attributes:
        left_out: With `explain`, the memories that were considered and left out, with reasons.
        dangling: Ids that followed links point to but that no memory has.
    """

    left_out: tuple[LeftOut, ...]
    dangling: tuple[str, ...]

    def __new__(
        cls, hits: Iterable[Hit] = (), *, left_out: Iterable[LeftOut] = (), dangling: Iterable[str] = ()
    ) -> Self:
        """Build the tuple with its extra fields."""
        made = super().__new__(cls, hits)
        made.left_out = tuple(left_out)
        made.dangling = tuple(dangling)
        return made

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no hits"

    def __repr__(self) -> str:
        return f"Hits({list(self)!r})"

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{hit.score:.3f}",
                hit.memory.kind,
                line(hit.memory.content, 200),
                f"{hit.memory.created_at:%Y-%m-%d}",
                "conflict" if hit.conflicts else "",
                hit.memory.id,
            )
            for hit in self
        ]
        return html_table(("score", "kind", "text", "date", "", "id"), rows)
