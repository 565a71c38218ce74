"""Mending what `verify` finds: dry by default, each mend an entry of the journal that can be undone.

What only repeats the rows (full text, columns, counters) the storage makes anew; decisions are mended
by effects on the one write path; vectors and unchecked rows by the sweep. What cannot be mended from
anything that is left is said, with the way out. Run again, it finds nothing to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from wellkept.engine.base.context import Context
from wellkept.engine.base.retry import whole
from wellkept.engine.gate.acts import apply
from wellkept.engine.upkeep.reembed import Progress, sweep
from wellkept.engine.upkeep.verifying import UNREADABLE, Finding, findings
from wellkept.errors import Busy, Full, ReadOnly, StorageError
from wellkept.storage.port import Mending, Stale
from wellkept.types import Problem, Reason

MendState: TypeAlias = Literal["planned", "mended"]
_PASSES = 5
"""A mend may uncover the next, as a chain of pointers does; each pass starts from what is there now."""


@dataclass(frozen=True, slots=True)
class Mended:
    """One problem and what became of it: where, what, what mends it, and the journal entry (0 for none)."""

    where: str
    what: str
    mend: str
    state: MendState
    entry: int = 0


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did, or would do.

    Attributes:
        dry_run: True when nothing was written.
        mends: What was mended, or would be.
        left: What cannot be mended, each with the way out; after an execution all that `verify` still finds.
        outage: Why vectors could not be made; empty when they could.
    """

    dry_run: bool
    mends: tuple[Mended, ...]
    left: tuple[Problem, ...]
    outage: str = ""


def repair(ctx: Context, *, dry_run: bool = True, progress: Progress | None = None) -> RepairReport:
    """Mend what `verify` finds and what can be mended safely.

    Args:
        ctx: The store.
        dry_run: Only say what would be done.
        progress: Told while vectors are made.

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
    """Apply one mend in a transaction of its own; None where it no longer fits what is stored."""
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
        return None  # changed since, perhaps by the mend before, or too damaged: it is looked at again
    return _told(one, "mended", entry)


def _swept(ctx: Context, progress: Progress | None) -> str:
    try:
        return sweep(ctx, progress).outage
    except (Busy, Full, ReadOnly):
        raise
    except UNREADABLE as error:  # another embedder, or a row that nobody can read: the rest is mended all the same
        return str(error)
