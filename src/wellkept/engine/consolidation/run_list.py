"""Runs of a namespace: imports and consolidations, and which of them were undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from wellkept.errors import NotFound
from wellkept.frozen import frozen
from wellkept.types import JournalEntry

if TYPE_CHECKING:
    from wellkept.engine.base.context import Context

Undone: TypeAlias = Literal["no", "partly", "yes"]
LAST = "last"
"""Can be given in place of the id of the last run to undo."""
_PAGE = 2_000


@frozen(kw_only=True)
class RunLine:
    """One run, from its journal entries. A dry run has none; it is only in its report.

    Attributes:
        verb: The command that made it: `consolidate`, `import` …
        counts: Entries by outcome; for a consolidation its actions by type.
        undone: Whether its changes were undone; `no` for a run without changes.
    """

    run_id: str
    verb: str
    actor: str
    started_at: datetime
    ended_at: datetime
    entries: int
    counts: Mapping[str, int] = field(default_factory=dict)
    undone: Undone = "no"


def runs_of(ctx: Context) -> tuple[RunLine, ...]:
    """All runs of the namespace, oldest first.

    Args:
        ctx: The store.

    Returns:
        One line for each run; undo entries belong to the run they undid.
    """
    found: dict[str, list[JournalEntry]] = {}
    undone_by: dict[int, list[int]] = {}
    changing: dict[str, list[int]] = {}
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        for start in range(1, tx.seq + 1, _PAGE):
            wanted = range(start, min(start + _PAGE, tx.seq + 1))
            for entry in tx.journal(seqs=wanted):
                if entry.seq not in wanted:  # an undo of one of these; it belongs to its own page
                    continue
                if entry.undoes:
                    undone_by.setdefault(entry.undoes, []).append(entry.seq)
                elif entry.run_id:
                    found.setdefault(entry.run_id, []).append(_without_effects(entry))
                    if entry.effects:
                        changing.setdefault(entry.run_id, []).append(entry.seq)
    return tuple(_line(entries, changing.get(run_id, ()), undone_by) for run_id, entries in found.items())


def last_run(ctx: Context) -> str:
    """The run with the newest changes that are not undone.

    Raises:
        NotFound: There is none.
    """
    undone: set[int] = set()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        for end in range(tx.seq, 0, -_PAGE):
            wanted = range(max(1, end - _PAGE + 1), end + 1)
            for entry in sorted(tx.journal(seqs=wanted), key=lambda item: -item.seq):
                if entry.undoes and entry.seq not in undone:
                    undone.add(entry.undoes)
                elif entry.run_id and not entry.undoes and entry.effects and entry.seq not in undone:
                    return entry.run_id
    raise NotFound("no run to take back", where=ctx.namespace, todo="Take single entries back by their numbers")


def _without_effects(entry: JournalEntry) -> JournalEntry:
    """The entry with the fields a line needs, so that large runs are not kept in memory."""
    return JournalEntry(
        seq=entry.seq, at=entry.at, verb=entry.verb, actor=entry.actor, policy="", outcome=entry.outcome,
        run_id=entry.run_id,
    )  # fmt: skip


def _line(entries: list[JournalEntry], changing: Iterable[int], undone_by: Mapping[int, list[int]]) -> RunLine:
    first, last = entries[0], entries[-1]
    states = {_is_undone(seq, undone_by) for seq in changing}
    undone: Undone = "no" if True not in states else "partly" if False in states else "yes"
    return RunLine(
        run_id=first.run_id,
        verb=first.verb,
        actor=first.actor,
        started_at=first.at,
        ended_at=last.at,
        entries=len(entries),
        counts=dict(sorted(Counter(entry.outcome for entry in entries).items())),
        undone=undone,
    )


def _is_undone(seq: int, undone_by: Mapping[int, list[int]]) -> bool:
    """Whether an entry is undone, taking undos of undos into account."""
    return any(not _is_undone(later, undone_by) for later in undone_by.get(seq, ()))
