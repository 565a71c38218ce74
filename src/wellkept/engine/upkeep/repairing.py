"""Repairs problems that `verify` finds: dry run by default, each repair is a journal entry that can be undone.

Derived data (full text, columns, counters) is rebuilt by the storage; decisions are repaired by effects on the
one write path; vectors and unchecked rows by the sweep; what is remembered of questions is noted again. Problems that
cannot be repaired are reported with a way out. A second run finds nothing to do.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from wellkept.core.asking.state import state_of, state_text
from wellkept.engine.base.context import Context
from wellkept.engine.base.retry import whole
from wellkept.engine.gate.acts import apply
from wellkept.engine.upkeep.reembed import Progress, sweep
from wellkept.engine.upkeep.verifying import UNREADABLE, Finding, asking_nothing, findings
from wellkept.errors import Busy, Full, ReadOnly, StorageError
from wellkept.frozen import frozen
from wellkept.storage.port import Mending, Stale
from wellkept.types import Problem, Reason

MendState: TypeAlias = Literal["planned", "mended"]
_PASSES = 5
"""Number of passes: a repair may uncover the next problem, as in a chain of pointers."""


@frozen
class Mended:
    """One problem and its repair: where, what, how it is repaired, and the journal entry (0 for none)."""

    where: str
    what: str
    mend: str
    state: MendState
    entry: int = 0


@frozen
class RepairReport:
    """The result of a repair or of its dry run.

    Attributes:
        dry_run: True when nothing was written.
        mends: The repairs made or proposed.
        left: Problems that cannot be repaired, each with a way out; after an execution everything that
            `verify` still finds.
        outage: Why vectors could not be computed; else empty.
    """

    dry_run: bool
    mends: tuple[Mended, ...]
    left: tuple[Problem, ...]
    outage: str = ""


def repair(ctx: Context, *, dry_run: bool = True, progress: Progress | None = None) -> RepairReport:
    """Repair problems that `verify` finds, where that is safe.

    Args:
        ctx: The store.
        dry_run: Only report the repairs.
        progress: Called while vectors are computed.

    Example:
        >>> import wellkept
        >>> from wellkept.engine.upkeep.repairing import repair
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     memory = store.remember("Tea is upstairs.").memory
        ...     _ = store.link(memory.id, "nobody")
        ...     [(mend.what, mend.mend) for mend in repair(store._ctx).mends]
        [('one end does not exist', 'unlinked')]
    """
    found = findings(ctx)
    if dry_run:
        return _planned(found)
    mends: list[Mended] = []
    if any(one.mend == "storage" for one in found) and isinstance(ctx.storage, Mending):
        done = ctx.storage.mend(dry_run=False)
        mends += [Mended("storage", text, "made anew from the rows", "mended") for text in done]
        found = findings(ctx)
    for _ in range(_PASSES):
        made = [mend for one in found if (mend := _mend(ctx, one)) is not None]
        mends += made
        if not made:
            break
        found = findings(ctx)
    waiting = [one for one in found if one.mend == "sweep"]
    outage = _swept(ctx, progress) if waiting else ""
    left = findings(ctx) if waiting else found
    still = {(one.problem.where, one.problem.what) for one in left}
    mends += [_told(one, "mended") for one in waiting if (one.problem.where, one.problem.what) not in still]
    return RepairReport(dry_run=False, mends=tuple(mends), left=tuple(one.problem for one in left), outage=outage)


def _planned(found: list[Finding]) -> RepairReport:
    mends = tuple(_told(one, "planned") for one in found if one.mend)
    return RepairReport(dry_run=True, mends=mends, left=tuple(one.problem for one in found if not one.mend))


def _told(one: Finding, state: MendState, entry: int = 0) -> Mended:
    return Mended(one.problem.where, one.problem.what, one.done, state, entry)


@whole
def _mend(ctx: Context, one: Finding) -> Mended | None:
    """Apply one repair in its own transaction; None when it no longer fits the stored rows."""
    if one.mend == "asking":
        with ctx.storage.begin(ctx.namespace, write=True) as tx:
            tx.note_asking(state_text(state_of(tx.asking()).without(*asking_nothing(tx))))
        return _told(one, "mended")
    if one.effects is None:
        return None
    reasons = (Reason("repair", f"{one.problem.where}: {one.problem.what}"),)
    try:
        with ctx.storage.begin(ctx.namespace, write=True) as tx:
            effects = one.effects(ctx.clock())
            about = one.memory_id
            entry = apply(ctx, tx, effects, verb="repair", outcome="mended", memory_id=about, reasons=reasons)
    except (Busy, Full, ReadOnly):
        raise
    except (Stale, *UNREADABLE) as error:
        if isinstance(error, StorageError) and error.transient:
            raise
        return None  # changed since, perhaps by the previous repair, or too damaged; the next pass checks again
    return _told(one, "mended", entry)


def _swept(ctx: Context, progress: Progress | None) -> str:
    try:
        return sweep(ctx, progress).outage
    except (Busy, Full, ReadOnly):
        raise
    except UNREADABLE as error:  # another embedder, or an unreadable row: the rest is repaired anyway
        return str(error)
