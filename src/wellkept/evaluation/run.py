"""Runs labelled texts through a store of its own, through the public API only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import wellkept
from wellkept.core.text.forms import embed_text
from wellkept.engine.models.wrapped_embedder import WrappingEmbedder
from wellkept.errors import ConflictError, InvalidInput, ModelUnavailable
from wellkept.evaluation.labelled_files import Pair, Story, Write
from wellkept.evaluation.ledger import Ledger, QuerySeen, WriteSeen
from wellkept.evaluation.outcome import Change, seen
from wellkept.evaluation.pair_metrics import Case
from wellkept.evaluation.story_metrics import TOP, StorySeen
from wellkept.frozen import frozen
from wellkept.policy import Policy
from wellkept.types import Hit, Memory, MemoryChange, Statement, WriteResult

if TYPE_CHECKING:
    from wellkept.core.judging.evidence import ContradictionFn
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.models.port import Embedded, Embedder, RelationModel

Judging: TypeAlias = Literal["default", "rules"]
Progress: TypeAlias = Callable[[int], None]

DEFAULT_KIND = str(Statement.__dataclass_fields__["kind"].default)
_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_BETWEEN = timedelta(minutes=1)
_BATCH = 64
SHOWN = 10


# --------------------------------------------------------------------------------------------
# The store


@frozen(kw_only=True)
class Setup:
    """The configuration that is measured.

    Attributes:
        policy: The policy.
        embedder: The embedder; see `Warm`.
        relation_model: Replaces the packaged relation model, such as a newly trained one.
        judging: `default` as in `wellkept.open`; `rules` without the relation model.
        contradiction_fn: Your own contradiction check in addition.
        kind: Kind of the texts of pairs; stories name their own.
        with_subject: Whether subjects are passed.
    """

    policy: Policy = field(default_factory=Policy)
    embedder: Embedder
    relation_model: RelationModel | None = None
    judging: Judging = "default"
    contradiction_fn: ContradictionFn | None = None
    kind: str = DEFAULT_KIND
    with_subject: bool = False


def available() -> tuple[Judging, ...]:
    """The available values of `judging`; without the relation model only `rules`."""
    from wellkept.models.registry import load_relation_model

    try:
        load_relation_model("packaged")
    except ModelUnavailable:
        return ("rules",)
    return ("default", "rules")


@contextmanager
def opened(setup: Setup, clock: Callable[[], datetime]) -> Iterator[MemoryStore]:
    """Open an empty store in a temporary folder with the chosen judging.

    Clock and ids are deterministic, so that the same files give the same metrics. A store in memory has no indexes:
    beside a crowd of 20,000 each write would scan all of it, several times.
    """
    with (
        TemporaryDirectory(prefix="wellkept-") as folder,
        wellkept.open(
            Path(folder) / "store.db",
            policy=setup.policy,
            embedder=setup.embedder,
            relation_model="none" if setup.judging == "rules" else setup.relation_model or "auto",
            contradiction_fn=setup.contradiction_fn,
            clock=clock,
            new_id=_Numbered(),
        ) as store,
    ):
        yield store


def nli_judge(path: Path) -> ContradictionFn:
    """Your own NLI cross-encoder as a contradiction check.

    Raises:
        ModelUnavailable: A file is missing or unreadable.
        ConfigError: The contradiction output is unknown.
    """
    from wellkept.models.judges.nli import nli_relation

    return nli_relation(path)


class _Numbered:
    """Sequential ids in UUIDv7 format."""

    def __init__(self) -> None:
        self._made = 0

    def __call__(self) -> str:
        self._made += 1
        return f"019b8000-0000-7000-8000-{self._made:012x}"


class StoryClock:
    """A clock that is set by hand."""

    def __init__(self, now: datetime = _START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The time."""
        return self.now


class Warm(WrappingEmbedder):
    """An embedder with a cache, so that vectors are computed in large batches.

    Args:
        embedder: The wrapped embedder.
    """

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self._made: dict[str, Embedded] = {}

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Vectors in the order of the texts; errors are the embedder's."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._made]
        if missing:
            self._made.update(zip(missing, self._embedder.embed(missing), strict=True))
        return [self._made[text] for text in texts]

    def cosine(self, kind: str, old: str, new: str) -> float | None:
        """Raw cosine of two memories of a kind; None if one is unreadable."""
        a, b = (answer.vector for answer in self.embed([embedded_text(kind, old), embedded_text(kind, new)]))
        return None if a is None or b is None else float(a @ b)


def embedded_text(kind: str, text: str) -> str:
    """The text that is embedded for a memory with only this content."""
    return embed_text(kind=kind, title="", summary="", content=text)


# --------------------------------------------------------------------------------------------
# Pairs


def run_pairs(pairs: Sequence[Pair], setup: Setup, progress: Progress | None = None) -> list[Case]:
    """Write both texts of each pair into an empty namespace and record the result.

    Args:
        pairs: The pairs.
        setup: The configuration.
        progress: Called with the number of finished pairs.

    Raises:
        InvalidInput: A text cannot be stored; names file and line.
    """
    clock = StoryClock()
    cases = []
    with opened(setup, clock) as store:
        for start, batch in _batches(pairs):
            setup.embedder.embed([embedded_text(setup.kind, text) for pair in batch for text in (pair.old, pair.new)])
            for number, pair in enumerate(batch, start):
                clock.now = _START
                cases.append(_run_pair(pair, setup, store.in_namespace(f"pair/{number}"), clock))
            if progress is not None:
                progress(len(cases))
    return cases


def _run_pair(pair: Pair, setup: Setup, store: MemoryStore, clock: StoryClock) -> Case:
    # Pairs show how two texts relate; whether one is worth keeping is another question.
    fields: dict[str, Any] = {"kind": setup.kind, "keep": True}
    if setup.with_subject and pair.subject:
        fields["subject"] = pair.subject
    first = changed(store, pair.old, fields, pair.place)
    clock.now += _BETWEEN
    change = changed(store, pair.new, fields, pair.place, first.after)
    return Case(pair, seen(change, old_id=first.own.id if first.own is not None else ""))


# --------------------------------------------------------------------------------------------
# Stories


def run_stories(
    stories: Sequence[Story], setup: Setup, progress: Progress | None = None, *, crowd: Sequence[str] = ()
) -> list[StorySeen]:
    """Write each story into a separate namespace, in order and at its times, then ask its queries.

    Args:
        stories: The stories.
        setup: The configuration.
        progress: Called with the number of finished stories.
        crowd: Texts that belong to no story. If there are any, all stories share one namespace that holds them.

    Raises:
        InvalidInput: A text or kind cannot be stored; names file and line.
    """
    clock = StoryClock()
    found: list[StorySeen] = []
    with opened(setup, clock) as store:
        for story, own in stores_of(stories, setup, store, clock, crowd):
            found.append(_run_story(story, setup, own, clock))
            if progress is not None:
                progress(len(found))
    return found


def stores_of(
    stories: Sequence[Story], setup: Setup, store: MemoryStore, clock: StoryClock, crowd: Sequence[str]
) -> Iterator[tuple[Story, MemoryStore]]:
    """Each story with its store: a namespace of its own, or one that all share with a crowd."""
    shared = store.in_namespace("crowd")
    clock.now = min((write.at for story in stories for write in story.writes), default=_START) - _BETWEEN
    for start in range(0, len(crowd), _BATCH):
        items = [{"content": text, "kind": setup.kind, "keep": True} for text in crowd[start : start + _BATCH]]
        shared.remember_many(items, on_conflict="ignore")
    for number, story in enumerate(stories):
        texts = [embedded_text(write.kind, write.text) for write in story.writes]
        setup.embedder.embed([*texts, *(query.text for query in story.queries)])
        yield story, shared if crowd else store.in_namespace(f"story/{number}")


def _run_story(story: Story, setup: Setup, store: MemoryStore, clock: StoryClock) -> StorySeen:
    ledger = Ledger()
    writes = []
    rows: dict[str, Memory] = {}
    for number, write in enumerate(story.writes, 1):
        clock.now = write.at
        change = changed(store, write.text, fields_of(write, setup), f"{story.place}, write {number}", rows)
        rows = dict(change.after)
        writes.append(ledger.take(write, change))
    queries = []
    for query in story.queries:
        hits = store.recall(query.text, limit=SHOWN, touch=False)
        once = ledger.each_once(hit.memory.id for hit in hits)
        queries.append(QuerySeen(query, tuple(shown(hit) for hit in hits), once))
    findable = tuple(_is_found(store, seen) for seen in writes if seen.write.act != "noise")
    return StorySeen(story, tuple(writes), tuple(queries), findable)


def shown(hit: Hit) -> str:
    """The text of a hit as recall shows it: the memory, and the wording that fits the query better."""
    return hit.memory.content if hit.wording is None else f"{hit.memory.content}\n{hit.wording.content}"


def _is_found(store: MemoryStore, seen: WriteSeen) -> bool:
    """Whether the own words of a text find it among the first three, as a row or as a wording."""
    hits = store.recall(seen.write.text, limit=TOP, touch=False, include_superseded=True)
    rows = [hit.memory.id for hit in hits] + [row.id for hit in hits for row in hit.repeats]
    return seen.row_id in {*rows, *(hit.wording.id for hit in hits if hit.wording is not None)}


def fields_of(write: Write, setup: Setup) -> dict[str, Any]:
    """The arguments of `remember` beside the text."""
    fields: dict[str, Any] = {"kind": write.kind}
    if setup.with_subject and write.subject:
        fields["subject"] = write.subject
    if write.event_time is not None:
        fields["event_time"] = write.event_time
    return fields


# --------------------------------------------------------------------------------------------


def changed(
    store: MemoryStore, text: str, fields: dict[str, Any], place: str, before: Mapping[str, Memory] | None = None
) -> Change:
    """One write, and the rows before and after it; `before` has those that the caller follows, by default none."""
    result: WriteResult | None
    try:
        with placed(place):
            result = store.remember(text, **fields)
    except ConflictError:
        result = None  # the policy refuses conflicts: nothing was written
    after = dict(before or {}) | changes(store, result.entry if result is not None else 0)
    return Change(text=text, result=result, before=before or {}, after=after, conflicts=store.conflicts())


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Add the position of a text to errors about it."""
    try:
        yield
    except InvalidInput as error:
        where = f"{place}, {error.where}" if error.where else place
        raise type(error)(error.what, where=where, todo=error.todo) from error


def changes(store: MemoryStore, entry: int) -> dict[str, Memory]:
    """The memories by id as the entries from this one on have left them; none for 0."""
    changes = (effect for one in (store.journal(after=entry - 1) if entry else ()) for effect in one.effects)
    return {one.after.id: one.after for one in changes if isinstance(one, MemoryChange) and one.after is not None}


def _batches(pairs: Sequence[Pair]) -> Iterator[tuple[int, Iterable[Pair]]]:
    for start in range(0, len(pairs), _BATCH):
        yield start, pairs[start : start + _BATCH]
