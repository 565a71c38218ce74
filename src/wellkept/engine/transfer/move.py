"""Moves one namespace from a database to another while others use it; written in one of them at any time.

The two databases themselves say how far the move is (`storage.port.Closed`):

=====================  ==================  =========================================
source                 target              step
=====================  ==================  =========================================
open                   closed: in source   copied while writes go on
closed to writers      closed: in source   the rest is copied, all of it is compared
closed to writers      open                the table of places is changed
closed: in target      open                done; the former copy can be removed
=====================  ==================  =========================================

So a move that was interrupted goes on from there when it is started again, and can be given up before the target is
open. Nobody reads or writes an incomplete copy, whatever table of places a process has read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from wellkept.engine.transfer.fingerprints import PAGE, movable
from wellkept.engine.transfer.migrate import Progress, copy_namespace, foreign, migrate, occupied
from wellkept.errors import IllegalTransition, StorageError, WellkeptError
from wellkept.storage.port import Closed, Closing, Storage

_ROUNDS = 5
"""Copies while writes go on; each is shorter than the one before it, unless writers are as fast as the copy."""
_AGAIN = "Start the move again: wellkept db move NAMESPACE DATABASE"


class MovingStorage(Storage, Closing, Protocol):
    """A storage whose namespaces can be moved."""


@dataclass(frozen=True, slots=True)
class Database:
    """A database and its name in the table of places."""

    name: str
    storage: MovingStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveResult:
    """What a move has done.

    Attributes:
        done: `moved`; `finished`, if only the last steps were missing; `given up`; or `cleaned`.
        source: The name of the database it was in; for `cleaned`, of the one whose copy was removed.
        target: The name of the database it lives in now; for `given up`, of the one it was to be moved to.
        entries: Number of its journal entries.
        copied_closed: Number of the entries that were copied while writers waited.
    """

    namespace: str
    done: str
    source: str
    target: str
    entries: int = 0
    copied_closed: int = 0


def move(
    source: Database,
    target: Database,
    namespace: str,
    *,
    switch: Callable[[], None],
    progress: Progress | None = None,
    page: int = PAGE,
) -> MoveResult:
    """Move a namespace, or go on with a move that was interrupted.

    Writers wait while the rest is copied and everything is compared; readers never do.

    Args:
        source: Where it lives.
        target: Where it shall live.
        namespace: Its name.
        switch: Changes the table of places; may be called twice.
        progress: Called with the progress of the copy.
        page: How many entries one transaction copies.

    Raises:
        IllegalTransition: It is being moved elsewhere.
        StorageError: The target holds other data, or one of the databases failed. Before the switch, the source takes
            writes again.
        Corrupt: The source is damaged, or the copy differs; as before.
    """
    state = source.storage.closed(namespace)
    if state.moving not in ("", target.name):
        raise IllegalTransition(
            f"it is being moved to database {state.moving!r}", where=namespace, todo="Give that up first: --back"
        )
    if state.moving and is_ready(target, namespace):
        return _finished(source, target, namespace, switch, done="finished")
    here, there = source.storage.for_moving(), target.storage.for_moving()
    _close_target(source, target, namespace)
    for _ in range(_ROUNDS):
        report = migrate(here, there, namespaces=(namespace,), progress=progress, page=page)
        if report.namespaces[0].entries <= page:
            break
    try:
        source.storage.close_for(namespace, Closed(moving=target.name))
        copied = copy_namespace(here, there, namespace, page=page, progress=progress).entries
    except (WellkeptError, KeyboardInterrupt):
        source.storage.close_for(namespace, Closed())
        raise
    target.storage.close_for(namespace, Closed())
    return _finished(source, target, namespace, switch, done="moved", copied=copied)


def give_up(source: Database, target: Database, namespace: str) -> MoveResult:
    """Give up an unfinished move: the incomplete copy is removed, and the source takes writes again.

    Raises:
        IllegalTransition: The copy is complete and others may have written there already.
        StorageError: What the target holds is no copy, so nothing is removed.
    """
    if is_ready(target, namespace):
        raise IllegalTransition(
            f"the copy in database {target.name!r} is complete and in use", where=namespace, todo=_AGAIN
        )
    entries = _emptied(source, target, namespace)
    source.storage.close_for(namespace, Closed())
    return MoveResult(namespace=namespace, done="given up", source=source.name, target=target.name, entries=entries)


def clean(former: Database, now: Database, namespace: str) -> MoveResult:
    """Remove the copy that a finished move has left; processes with an old table are still told where it is.

    Raises:
        StorageError: What the former database holds is no earlier state, so nothing is removed.
    """
    return MoveResult(
        namespace=namespace,
        done="cleaned",
        source=former.name,
        target=now.name,
        entries=_emptied(now, former, namespace),
    )


def is_ready(target: Database, namespace: str) -> bool:
    """Whether a database holds a namespace that is open to everybody."""
    return not target.storage.closed(namespace).moved and seq_of(target, namespace) > 0


def seq_of(database: Database, namespace: str) -> int:
    """The number of journal entries that a database holds of a namespace, open or not."""
    with database.storage.for_moving().begin(namespace, write=False) as tx:
        return tx.seq


def _close_target(source: Database, target: Database, namespace: str) -> None:
    here, there = source.storage.for_moving(), target.storage.for_moving()
    if told := foreign(here, there, namespace):
        raise occupied([told])
    if is_ready(target, namespace):
        raise StorageError(
            f"database {target.name!r} holds this namespace too, open to writers",
            where=namespace,
            todo="Compare both, and remove one copy",
        )
    target.storage.close_for(namespace, Closed(moved=source.name))


def _finished(
    source: Database, target: Database, namespace: str, switch: Callable[[], None], *, done: str, copied: int = 0
) -> MoveResult:
    switch()
    source.storage.close_for(namespace, Closed(moved=target.name))
    return MoveResult(
        namespace=namespace,
        done=done,
        source=source.name,
        target=target.name,
        entries=seq_of(target, namespace),
        copied_closed=copied,
    )


def _emptied(whole: Database, copy: Database, namespace: str) -> int:
    """Remove a closed copy, if it is an earlier state of the whole; returns its number of entries."""
    here, there = whole.storage.for_moving(), copy.storage.for_moving()
    if told := foreign(here, there, namespace):
        raise occupied([told])
    with there.begin(namespace, write=True) as tx:
        entries = tx.seq
        if entries:
            movable(tx).restore((), afresh=True)
    return entries
