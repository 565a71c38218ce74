"""Checks a namespace for problems, each with its repair; `repairing` applies the repairs.

A finding contains place, problem and, if a safe repair exists, its effects. Each part is read under its own guard,
so that damage in one part does not hide problems in others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Literal, TypeAlias, get_args

from wellkept.core.asking.state import read_state, state_of
from wellkept.core.records import conflicts as flags
from wellkept.core.records import lifecycle
from wellkept.core.records.codec import DAMAGE
from wellkept.core.records.effects import touched
from wellkept.core.records.merge import aliases, segments
from wellkept.core.records.wikilinks import is_waiting
from wellkept.engine.base.context import Context
from wellkept.engine.gate.waiting import waiting
from wellkept.engine.models.embedding import text_of, vector_key
from wellkept.errors import StorageError
from wellkept.frozen import frozen
from wellkept.storage.port import Mending, Tx
from wellkept.types import (
    ALL_STATUSES,
    AliasChange,
    Conflict,
    ConflictChange,
    ConflictKind,
    Effect,
    Filter,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    Problem,
    Resolution,
)

Mend: TypeAlias = Literal["", "storage", "sweep", "effects", "asking"]
Effects: TypeAlias = Callable[[datetime], Sequence[Effect]]
UNREADABLE = (StorageError, *DAMAGE)
"""Exceptions that reading a damaged store may raise."""

_BACKUP = "Restore a backup, or export what can be read"
_REPAIR = "run `wellkept repair`"
_HIDDEN = {"superseded": "is superseded by", "wording": "is a wording of"}
"""Statuses that name a memory that stands before the row, in words."""
_PAGE = 500
_SHOWN = 20
_MOST_GAPS = 10_000


@frozen
class Finding:
    """A problem and its repair.

    Attributes:
        problem: The problem as `verify` reports it.
        mend: What repairs it: nothing, the storage from its rows, the sweep, the effects, or a new state of questions.
        done: What the effects do, in words.
        effects: Makes the effects for a given time.
        memory_id: The main memory of the journal entry.
    """

    problem: Problem
    mend: Mend = ""
    done: str = ""
    effects: Effects | None = None
    memory_id: str = ""


@frozen
class Picture:
    """The state of a namespace at one moment, without its journal.

    Attributes:
        lacking: Ids without a stored vector.
        waiting: Ids of memories that wait to be judged, which is no problem.
    """

    rows: dict[str, Memory]
    links: tuple[Link, ...]
    conflicts: tuple[Conflict, ...]
    lacking: frozenset[str]
    waiting: frozenset[str]


def verify(ctx: Context, *, whole: bool = True) -> tuple[Problem, ...]:
    """All problems of a namespace, each with its repair; empty when there are none.

    Args:
        ctx: The store.
        whole: Also check the storage itself, with all its namespaces; for several namespaces this is
            needed only once.
    """
    return tuple(finding.problem for finding in findings(ctx, whole=whole))


def findings(ctx: Context, *, whole: bool = True) -> list[Finding]:
    """All problems with their repairs. Damage is reported, never raised."""
    found = list(_of_storage(ctx)) if whole else []
    try:
        with ctx.storage.begin(ctx.namespace, write=False) as tx:
            picture = _picture(tx)
            found += _guarded("memories", _of_rows(picture))
            found += _guarded("links", _of_links(picture))
            found += _guarded("conflicts", _of_conflicts(picture))
            found += _guarded("hashes", _of_aliases(tx, picture))
            found += _guarded("counts", _of_counts(tx, picture))
            found += _guarded("journal", _of_journal(tx, picture))
            found += _guarded("questions", _of_questions(tx))
    except UNREADABLE as error:
        found.append(_unreadable("storage", error))
        return found
    return [*found, *_guarded("journal", _of_strays(ctx, picture))]


def _guarded(what: str, look: Iterator[Finding]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(look)
    except UNREADABLE as error:  # findings so far are kept
        found.append(_unreadable(what, error))
    return found


def _unreadable(where: str, error: Exception) -> Finding:
    if isinstance(error, StorageError) and error.transient:
        raise error  # not damage: the connection was lost, and the check is repeated
    what = error.what if isinstance(error, StorageError) else f"{type(error).__name__}: {error}"
    return Finding(Problem(where, f"cannot be read to the end: {what}", _BACKUP))


def _of_storage(ctx: Context) -> Iterator[Finding]:
    told = ctx.storage.verify()
    backend = ctx.storage
    mendable = set(backend.mend(dry_run=True)) if told and isinstance(backend, Mending) else set()
    for text in told:
        if text in mendable:
            yield Finding(Problem("storage", text, f"R{_REPAIR[1:]}"), "storage", "made anew from the rows")
        else:
            yield Finding(Problem("storage", text, _BACKUP))


def _picture(tx: Tx) -> Picture:
    rows = {row.id: row for row in tx.find(Filter(statuses=()))}
    lacking = frozenset(row.id for row in tx.find(Filter(statuses=(), embedded=False)))
    unchecked = any(row.status == "active" and not row.checked for row in rows.values())
    late = frozenset(one.memory.id for one in waiting(tx)) if unchecked else frozenset[str]()
    return Picture(rows, tuple(tx.links()), tuple(tx.conflicts()), lacking, late)


def _after(row: Memory, now: datetime, **values: object) -> tuple[Effect, ...]:
    return (MemoryChange(row, replace(row, version=row.version + 1, updated_at=now, **values)),)  # type: ignore[arg-type]


def _mended(where: str, what: str, todo: str, *, done: str, effects: Effects, memory_id: str) -> Finding:
    return Finding(Problem(where, what, f"{todo}, or {_REPAIR}"), "effects", done, effects, memory_id)


# --------------------------------------------------------------------------------------------
# Rows and chains


def _of_rows(picture: Picture) -> Iterator[Finding]:
    circles = {_newest(picture, circle): circle for circle in _circles(picture.rows)}
    edges = {(link.src, link.dst) for link in picture.links if link.rel == "supersedes"}
    edges |= {(link.dst, link.src) for link in picture.links if link.rel == "restates"}
    for row in picture.rows.values():
        if row.status not in ALL_STATUSES:
            yield Finding(Problem(row.id, "has a status that does not exist", _BACKUP))
        if row.status == "erased" and (row.content or row.title or row.summary):
            yield Finding(Problem(row.id, "is erased and still says something", _BACKUP))
        if row.id in circles:
            others = ", ".join(one for one in circles[row.id] if one != row.id)
            yield _restored(picture, row, f"{_HIDDEN[row.status]} itself" + (f", along {others}" if others else ""))
        else:
            yield from _of_pointer(picture, row, edges)
        yield from _of_vector(picture, row)


def _newest(picture: Picture, circle: Sequence[str]) -> str:
    """The newest memory of a cycle; it becomes active again, because all of the cycle are hidden."""
    return max((picture.rows[one].created_at, one) for one in circle)[1]


def _of_pointer(picture: Picture, row: Memory, edges: set[tuple[str, str]]) -> Iterator[Finding]:
    """Check that status, successor and link agree."""
    successor = picture.rows.get(row.superseded_by)
    linked = (row.superseded_by, row.id) in edges
    if row.status == "superseded" and successor is None:
        yield _restored(picture, row, "is superseded by a memory that does not exist")
    elif row.status == "superseded" and successor is not None and not linked:
        if successor.status != "erased":  # erasing also removes the links
            yield _mended(
                row.id, "is superseded without a `supersedes` link", "Restore it", done="linked again",
                effects=lambda now: (LinkChange(None, Link(row.superseded_by, row.id, "supersedes", now)),),
                memory_id=row.id,
            )  # fmt: skip
    elif row.status == "wording":
        yield from _of_wording(picture, row, linked=linked)
    elif row.status == "active" and row.superseded_by and successor is not None and linked:
        behind = any((one.src, one.dst, one.rel) == (row.id, successor.id, "restates") for one in picture.links)
        status, told = ("wording", "is a wording") if behind else ("superseded", "was superseded")
        yield _mended(
            row.id, f"is active, though pointer and link say it {told}", "Supersede it", done="hidden again",
            effects=lambda now: _after(row, now, status=status, superseded_at=row.superseded_at or now),
            memory_id=row.id,
        )  # fmt: skip
    elif row.status == "active" and (row.superseded_by or row.superseded_at):
        yield _mended(
            row.id, "is active and names a memory that superseded it", "Supersede it", done="no longer names one",
            effects=lambda now: _after(row, now, superseded_by="", superseded_at=None), memory_id=row.id,
        )  # fmt: skip


def _of_wording(picture: Picture, row: Memory, *, linked: bool) -> Iterator[Finding]:
    """Check that a wording stands behind a memory that can be its head, by pointer and link."""
    head = picture.rows.get(row.superseded_by)
    if head is None:
        yield _restored(picture, row, "is a wording of a memory that does not exist")
    elif head.status == "erased":  # erasing takes the wordings along, so this text may have been meant too
        yield Finding(Problem(row.id, f"is a wording of {head.id}, which was erased", "Erase it, or split it off"))
    elif head.status == "wording":
        what, end = f"is a wording of {head.id}, which is a wording itself", _end_of(picture, head)
        if end is None:  # missing, erased, or a cycle: that is mended first
            yield Finding(Problem(row.id, what, f"Split it off, or {_REPAIR}"))
        else:
            yield _mended(
                row.id, what, "Split it off", done=f"put behind {end}",
                effects=partial(_put_behind, picture, row, end), memory_id=row.id,
            )  # fmt: skip
    elif not linked:
        yield _mended(
            row.id, "is a wording without a `restates` link", "Restore it", done="linked again",
            effects=lambda now: (LinkChange(None, Link(row.id, row.superseded_by, "restates", now)),),
            memory_id=row.id,
        )  # fmt: skip


def _end_of(picture: Picture, wording: Memory) -> str | None:
    """The id of the head at the end of a chain of wordings; None when there is none."""
    step, seen = wording, {wording.id}
    while step.status == "wording":
        following = picture.rows.get(step.superseded_by)
        if following is None or following.id in seen or following.status == "erased":
            return None
        step = following
        seen.add(step.id)
    return step.id


def _put_behind(picture: Picture, row: Memory, head: str, now: datetime) -> tuple[Effect, ...]:
    """Effects that move a wording behind another head, with its link."""
    own = [link for link in picture.links if link.rel == "restates" and link.src == row.id]
    gone = [LinkChange(link, None) for link in own if link.dst == row.superseded_by]
    made = () if any(link.dst == head for link in own) else (LinkChange(None, Link(row.id, head, "restates", now)),)
    return (*_after(row, now, superseded_by=head), *gone, *made)


def _restored(picture: Picture, row: Memory, what: str) -> Finding:
    links = tuple(link for link in picture.links if row.id in (link.src, link.dst))
    conflicts = tuple(one for one in picture.conflicts if row.id in (one.a, one.b))
    return _mended(
        row.id, what, "Restore it", done="current again",
        effects=lambda now: lifecycle.restore(row, at=now, links=links, conflicts=conflicts), memory_id=row.id,
    )  # fmt: skip


def _circles(rows: dict[str, Memory]) -> list[tuple[str, ...]]:
    """Cycles of memories that hide each other, each once."""
    ended: set[str] = set()
    found = []
    for start in rows:
        path: dict[str, None] = {}
        step = start
        while step in rows and step not in ended and step not in path and rows[step].status in _HIDDEN:
            path[step] = None
            step = rows[step].superseded_by
        if step in path:
            walked = list(path)
            found.append(tuple(walked[walked.index(step) :]))
        ended |= path.keys()
    return found


def _of_vector(picture: Picture, row: Memory) -> Iterator[Finding]:
    if row.status == "active" and not row.checked and row.id not in picture.waiting:
        yield _swept(row, "was stored while a check could not run", "Run `wellkept sweep`")
    if row.embedding and row.id in picture.lacking:
        yield _swept(row, "has no vector of the store's embedder", "Run `wellkept reembed`")
    if row.embedding and row.status != "erased" and row.embedding != vector_key(text_of(row)):
        yield _swept(row, "has a vector of another text", "Run `wellkept reembed`")


def _swept(row: Memory, what: str, todo: str) -> Finding:
    return Finding(Problem(row.id, what, todo), "sweep", "swept", memory_id=row.id)


# --------------------------------------------------------------------------------------------
# Links, conflicts, hashes


def _of_links(picture: Picture) -> Iterator[Finding]:
    for link in picture.links:
        # A pending link has no target yet by design.
        ends = [end for end in (link.src, link.dst) if end not in picture.rows and not is_waiting(end)]
        target = picture.rows.get(link.dst)
        if ends:
            what = "one end does not exist"
        elif link.src == link.dst:
            what = "it leads to itself"
        elif link.rel == "supersedes" and target and target.status == "active" and target.superseded_by != link.src:
            what = "what it says to be superseded is active"
        else:
            continue
        yield _mended(
            f"link {link.src} -{link.rel}-> {link.dst}", what, "Unlink it", done="unlinked",
            effects=partial(_unlinked, link), memory_id=link.src,
        )  # fmt: skip


def _unlinked(link: Link, now: datetime) -> tuple[Effect, ...]:
    return (LinkChange(link, None),)


def _of_conflicts(picture: Picture) -> Iterator[Finding]:
    keys = {one.key for one in picture.conflicts}
    for one in picture.conflicts:
        where = f"conflict {one.key}"
        rows = [picture.rows.get(end) for end in (one.a, one.b)]
        if one.kind not in get_args(ConflictKind) or one.resolution not in (None, *get_args(Resolution)):
            yield Finding(Problem(where, "has a kind or an end that does not exist", _BACKUP))
        elif one.key != (right := flags.key_of(one.a, one.b, one.kind)):
            yield _mended(
                where, "has the key of another pair", "Dismiss it", done="given its own key",
                effects=partial(_rekeyed, one, None if right in keys else right), memory_id=one.b,
            )  # fmt: skip
        elif one.resolution is None and (one.a == one.b or any(row is None or row.status == "erased" for row in rows)):
            yield _mended(
                where, "one of its memories does not exist", "Dismiss it", done="dismissed",
                effects=partial(_dismissed, one), memory_id=one.b,
            )  # fmt: skip
        elif (one.resolution is None) != (one.resolved_at is None):
            what = "is open and has an end" if one.resolution is None else "is settled at no time"
            yield _mended(where, what, "Dismiss it", done="mended", effects=partial(_timed, one), memory_id=one.b)


def _rekeyed(one: Conflict, key: str | None, now: datetime) -> tuple[Effect, ...]:
    gone = ConflictChange(one, None)
    return (gone,) if key is None else (gone, ConflictChange(None, replace(one, key=key)))


def _dismissed(one: Conflict, now: datetime) -> tuple[Effect, ...]:
    return (ConflictChange(one, flags.settled(one, "dismissed", at=now)),)


def _timed(one: Conflict, now: datetime) -> tuple[Effect, ...]:
    return (ConflictChange(one, replace(one, resolved_at=None if one.resolution is None else now)),)


def _of_aliases(tx: Tx, picture: Picture) -> Iterator[Finding]:
    """Check that every text of an active row leads to it by both of its hashes.

    Read a page at a time; a row that is missing in the answers has lost its hash.
    """
    active = [row for row in picture.rows.values() if row.status == "active"]
    texts = {row.id: segments(row) for row in active}
    deepest = max((len(said) for said in texts.values()), default=0)
    lost: dict[str, list[str]] = {}
    for depth in range(deepest):
        rows = [row for row in active if len(texts[row.id]) > depth]
        for which in (0, 1):  # hash of the content, canonical hash
            for start in range(0, len(rows), _PAGE):
                page = {row.id: aliases(texts[row.id][depth])[which] for row in rows[start : start + _PAGE]}
                for memory_id in _unreached(tx, page):
                    lost.setdefault(memory_id, []).append(page[memory_id])
    for memory_id, hashes in lost.items():
        yield _mended(
            memory_id, "is not found by the hashes of its own text", "Revise it", done="found by its hashes again",
            effects=partial(_led, memory_id, tuple(hashes)), memory_id=memory_id,
        )  # fmt: skip


def _unreached(tx: Tx, wanted: dict[str, str]) -> list[str]:
    hashes = tuple(dict.fromkeys(wanted.values()))
    found = {row.id for row in tx.find(Filter(ids=tuple(wanted), hashes=hashes, statuses=()))}
    return [memory_id for memory_id in wanted if memory_id not in found]


def _led(memory_id: str, hashes: Iterable[str], now: datetime) -> tuple[Effect, ...]:
    return tuple(AliasChange(memory_id, one, present=True) for one in hashes)


# --------------------------------------------------------------------------------------------
# Counts and journal


def _of_counts(tx: Tx, picture: Picture) -> Iterator[Finding]:
    census = tx.census()
    rows = picture.rows.values()
    active = [row for row in rows if row.status == "active"]
    pairs: tuple[tuple[str, object, object], ...] = (
        ("memories by status", dict(census.statuses), dict(Counter(row.status for row in rows))),
        ("active memories by kind", dict(census.kinds), dict(Counter(row.kind for row in active))),
        ("links", census.links, len(picture.links)),
        ("unchecked memories", census.unchecked, sum(not row.checked for row in active)),
        ("memories without a vector", census.unembedded, sum(not row.embedding for row in active)),
    )
    for what, counted, there in pairs:
        if counted != there:
            yield Finding(Problem("counts", f"{what}: {counted} are counted, {there} are there", f"R{_REPAIR[1:]}"))


def _of_journal(tx: Tx, picture: Picture) -> Iterator[Finding]:
    """Check for gaps in the numbers, entries that do not name changed memories, and memories without an entry."""
    missing: list[int] = []
    named: set[str] = set()
    gaps = tx.seq - sum(tx.census().outcomes.values())
    if gaps > _MOST_GAPS:  # the counter itself is wrong; checking all numbers would take too long
        yield Finding(Problem("journal", f"{gaps} entries are missing", _BACKUP))
        return
    for start in range(1, tx.seq + 1, _PAGE):
        numbers = range(start, min(start + _PAGE, tx.seq + 1))
        try:
            entries = [entry for entry in tx.journal(seqs=numbers) if entry.seq in numbers]
        except UNREADABLE as error:
            yield _unreadable(f"journal from {start} on", error)
            named |= picture.rows.keys()  # unknown which memories the entry names
            continue
        missing += sorted(set(numbers) - {entry.seq for entry in entries})
        for entry in entries:
            named.update((entry.memory_id, *entry.memory_ids, *touched(entry.effects)))
            if entry.undoes >= entry.seq:
                yield Finding(Problem(f"journal entry {entry.seq}", f"takes back the later {entry.undoes}", _BACKUP))
            if set(touched(entry.effects)) - {*entry.memory_ids, entry.memory_id}:
                yield Finding(Problem(f"journal entry {entry.seq}", "does not name all it touched", _BACKUP))
    if missing:
        numbers_told = ", ".join(map(str, missing[:_SHOWN])) + (", …" if len(missing) > _SHOWN else "")
        what = f"entries are missing: {numbers_told}"
        yield Finding(Problem("journal", what, "Restore a backup; what those entries did can no longer be undone"))
    elif unknown := [one for one in picture.rows if one not in named]:
        for memory_id in unknown[:_SHOWN]:
            yield Finding(Problem(memory_id, "no journal entry knows how it came", _BACKUP))


def _of_questions(tx: Tx) -> Iterator[Finding]:
    """Check that the state of questions can be read, and lists only entries that ask."""
    text = tx.asking()
    if text and read_state(text) is None:
        what = "what is remembered of them cannot be read, so none is open"
        yield Finding(Problem("questions", what, f"R{_REPAIR[1:]}"), "asking", "begun anew")
    elif wrong := asking_nothing(tx):
        numbers = ", ".join(map(str, wrong[:_SHOWN])) + (", …" if len(wrong) > _SHOWN else "")
        what = f"entries are listed that ask nothing: {numbers}"
        yield Finding(Problem("questions", what, f"R{_REPAIR[1:]}"), "asking", "no longer listed")


def asking_nothing(tx: Tx) -> list[int]:
    """The entries that the state of questions lists although they ask nothing."""
    listed = [one.entry for one in state_of(tx.asking()).open]
    asking = {entry.seq for entry in tx.journal(seqs=listed) if entry.asks is not None} if listed else set()
    return [entry for entry in listed if entry not in asking]


def _of_strays(ctx: Context, picture: Picture) -> Iterator[Finding]:
    """Rows changed without a journal entry; their earlier state is lost."""
    if not isinstance(ctx.storage, Mending):
        return
    for memory_id in ctx.storage.strayed(ctx.namespace):
        row = picture.rows.get(memory_id)
        if row is not None:
            yield _mended(
                memory_id, "is not what its last journal entry left", "Look at `wellkept history`, restore a backup",
                done="taken over into the journal as it is", effects=partial(_after, row), memory_id=memory_id,
            )  # fmt: skip
