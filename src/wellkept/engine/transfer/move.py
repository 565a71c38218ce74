"""Moves one namespace from a database to another while others use it; written in one of them at any time.

The two databases themselves say how far the move is (`storage.port.Closed`):

=====================  ==================  =========================================
source                 target              step
=====================  ==================  =========================================
open                   closed: in source   copied while writes go on
closed to writers      closed: in source   the rest is copied, all of it is compared
closed to writers      open                the source tells everybody where it is
closed: in target      open                the table of places is changed
=====================  ==================  =========================================

So a move that was interrupted goes on from there when it is started again, and can be given up before the target is
open. Nobody reads or writes an incomplete copy, whatever table of places a process has read. A mover is the only one of
the namespace in both databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol

from wellkept.engine.transfer.fingerprints import PAGE, movable
from wellkept.engine.transfer.migrate import Progress, copy_namespace, foreign, migrate, occupied
from wellkept.errors import Busy, Elsewhere, IllegalTransition, StorageError, WellkeptError
from wellkept.frozen import frozen
from wellkept.storage.port import OPEN, Closed, Closing, Mover, Storage

_ROUNDS = 4
"""Further copies while writes go on; each is shorter than the one before it, unless writers are as fast as the copy."""
_AGAIN = "Start the move again: wellkept db move NAMESPACE DATABASE"


class MovingStorage(Storage, Closing, Protocol):
    """A storage whose namespaces can be moved."""


@frozen
class Database:
    """A database and its name in the table of places."""

    name: str
    storage: MovingStorage


@frozen(kw_only=True)
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
    check: Callable[[], None],
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
        check: Raises if the table of places cannot be changed; called before writers wait.
        switch: Changes the table of places.
        progress: Called with the progress of the copy.
        page: How many entries one transaction copies.

    Raises:
        Busy: Another process is moving it.
        IllegalTransition: It is being moved elsewhere.
        Elsewhere: It was moved from the source meanwhile.
        StorageError: The target holds other data, or one of the databases failed. Before the target is open, the source
            takes writes again.
        Corrupt: The source is damaged, or the copy differs; as before.
        ConfigError: The table of places cannot be changed. If the namespace was moved, start the move again.
    """
    with alone_in_both(source, target, namespace) as (here, there):
        state = _unfinished(source, target, namespace)
        done, copied = "finished", 0
        if not (state.moving and is_ready(target, namespace)):
            if state.moving:  # nobody has written in the target, so writers need not wait for all of the copy
                here.close_for(OPEN, was=state)
            check()
            copy = _Copy(source, target, here, there, namespace, progress, page)
            copy.while_open()
            check()
            done, copied = "moved", copy.while_closed()
        here.close_for(Closed(moved=target.name), was=Closed(moving=target.name))
        switch()
        entries = seq_of(target, namespace)
    return MoveResult(
        namespace=namespace, done=done, source=source.name, target=target.name, entries=entries, copied_closed=copied
    )


def give_up(source: Database, target: Database, namespace: str) -> MoveResult:
    """Give up an unfinished move: the incomplete copy is removed, and the source takes writes again.

    Raises:
        Busy: The move goes on.
        IllegalTransition: The copy is complete and others may have written there already.
        StorageError: What the target holds is no copy, so nothing is removed.
    """
    with alone_in_both(source, target, namespace) as (here, there):
        if is_ready(target, namespace):
            raise IllegalTransition(
                f"the copy in database {target.name!r} is complete and in use", where=namespace, todo=_AGAIN
            )
        state = _unfinished(source, target, namespace)
        entries = _emptied(source, target, there, namespace)
        here.close_for(OPEN, was=state)
    return MoveResult(namespace=namespace, done="given up", source=source.name, target=target.name, entries=entries)


def clean(former: Database, now: Database, namespace: str) -> MoveResult:
    """Remove the copy that a finished move has left; processes with an old table are still told where it is.

    Raises:
        Busy: Another process is moving it.
        IllegalTransition: It is being moved.
        StorageError: What the former database holds is no earlier state, so nothing is removed.
    """
    with alone_in_both(former, now, namespace) as (there, _):
        if now.storage.closed(namespace) != OPEN:
            raise IllegalTransition("it is being moved", where=namespace, todo="Finish the move, or give it up: --back")
        entries = _emptied(now, former, there, namespace)
    return MoveResult(namespace=namespace, done="cleaned", source=former.name, target=now.name, entries=entries)


def is_ready(target: Database, namespace: str) -> bool:
    """Whether a database holds a namespace that is open to everybody."""
    return not target.storage.closed(namespace).moved and seq_of(target, namespace) > 0


def seq_of(database: Database, namespace: str) -> int:
    """The number of journal entries that a database holds of a namespace, open or not."""
    with database.storage.for_moving().begin(namespace, write=False) as tx:
        return tx.seq


@contextmanager
def alone_in_both(one: Database, other: Database, namespace: str) -> Iterator[tuple[Mover, Mover]]:
    """Be the only mover in both databases, so that no other move, its giving up or its cleaning overlaps."""
    with ExitStack() as stack:
        yield (
            stack.enter_context(one.storage.alone(namespace)),
            stack.enter_context(other.storage.alone(namespace)),
        )


def _unfinished(source: Database, target: Database, namespace: str) -> Closed:
    """To whom the source is closed, if that fits a move to the target."""
    state = source.storage.closed(namespace)
    if state.moved:
        raise Elsewhere(
            f"namespace {namespace!r} lives in database {state.moved!r} by now",
            where=f"database {source.name!r}",
            todo=_AGAIN,
            database=state.moved,
        )
    if state.moving not in ("", target.name):
        raise IllegalTransition(
            f"it is being moved to database {state.moving!r}", where=namespace, todo="Give that up first: --back"
        )
    return state


@frozen
class _Copy:
    """The copy of a namespace by its only mover."""

    source: Database
    target: Database
    here: Mover
    there: Mover
    namespace: str
    progress: Progress | None
    page: int

    def while_open(self) -> None:
        """Copy while writes go on."""
        here, there = self.source.storage.for_moving(), self._target()
        if told := foreign(here, there, self.namespace):
            raise occupied([told])
        if is_ready(self.target, self.namespace):
            raise _is_open_too(self.target, self.namespace)
        self.there.close_for(self._closed(), was=self.target.storage.closed(self.namespace))
        report = migrate(here, there, namespaces=(self.namespace,), progress=self.progress, page=self.page)
        copied = report.namespaces[0].entries
        for _ in range(_ROUNDS):
            if copied <= self.page:
                break
            copied = self._rest()

    def while_closed(self) -> int:
        """Copy the rest while writers wait, and open the target; returns the number of entries copied."""
        closed = Closed(moving=self.target.name)
        try:
            self.here.close_for(closed, was=OPEN)
            copied = self._rest()
        except (WellkeptError, KeyboardInterrupt):
            if self.source.storage.closed(self.namespace) == closed:
                self.here.close_for(OPEN, was=closed)
            raise
        self.there.close_for(OPEN, was=self._closed())
        return copied

    def _rest(self) -> int:
        here, there = self.source.storage.for_moving(), self._target()
        return copy_namespace(here, there, self.namespace, progress=self.progress, page=self.page).entries

    def _target(self) -> Storage:
        """The target, in which a copy is written only while it is closed."""
        return self.target.storage.for_moving(self._closed())

    def _closed(self) -> Closed:
        return Closed(moved=self.source.name)


def _emptied(whole: Database, copy: Database, mover: Mover, namespace: str) -> int:
    """Remove a closed copy, if it is an earlier state of the whole; returns its number of entries."""
    entries = seq_of(copy, namespace)
    if not entries:
        return 0
    state, closed = copy.storage.closed(namespace), Closed(moved=whole.name)
    if not state.moved:
        raise _is_open_too(copy, namespace)
    if told := foreign(whole.storage.for_moving(), copy.storage.for_moving(), namespace):
        raise occupied([told])
    mover.close_for(closed, was=state)  # it may have been moved on from where the copy says
    empty(copy, namespace, closed, entries=entries, todo="Look where it is: wellkept db place NAMESPACE")
    return entries


def empty(copy: Database, namespace: str, closed: Closed, *, entries: int, todo: str) -> None:
    """Remove a copy that is closed like this and has this number of entries.

    Raises:
        Busy: It has another number of entries by now; says what is to be done.
    """
    with copy.storage.for_moving(closed).begin(namespace, write=True) as tx:
        if tx.seq != entries:
            raise Busy(
                "somebody has written in the copy meanwhile; nothing was removed",
                where=f"database {copy.name!r}, namespace {namespace!r}",
                todo=todo,
            )
        movable(tx).restore((), afresh=True)


def _is_open_too(database: Database, namespace: str) -> StorageError:
    return StorageError(
        f"database {database.name!r} holds this namespace too, open to writers",
        where=namespace,
        todo="Keep one of them: wellkept db remove-copy",
    )
