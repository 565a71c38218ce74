"""Backup of a store while others write, and restoring a copy while others read.

Both use SQLite's backup API, which copies pages under its locks. Copying or renaming files of a store in use is unsafe:
it can lose the content of the write-ahead log, or combine an old log with a new file.
"""

from __future__ import annotations

import glob
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wellkept.errors import Busy, Corrupt, NotAStore, ReadOnly, StorageError, StorePathError
from wellkept.frozen import frozen
from wellkept.storage.sqlite.failures import translated
from wellkept.storage.sqlite.opening import checked_path
from wellkept.storage.sqlite.schema_objects import strangers
from wellkept.storage.sqlite.session import Session
from wellkept.storage.sqlite.verify import problems

_BESIDE = ("-wal", "-shm", "-journal")
_PAUSE = 0.02


@frozen(kw_only=True)
class Copied:
    """A verified copy.

    Attributes:
        file: Path of the copy.
        size: Size in bytes.
        store_id: Id of the store, which the copy shares.
        entries: Number of the newest journal entry of each namespace.
    """

    file: str
    size: int
    store_id: str
    entries: dict[str, int]


def backup(file: Path, target: Path, *, replace: bool, busy_seconds: float) -> Copied:
    """Copy the store to a file that appears only when it is complete, synced to disk and verified.

    Args:
        file: The store; others may write in the meantime, and the copy is a snapshot.
        target: Path of the copy.
        replace: Whether an existing file may be replaced; the files of a store in use never are.
        busy_seconds: Maximum wait for a lock, in seconds.

    Raises:
        StorePathError: The target exists, cannot be written, or is the store itself.
        Corrupt: The copy, and so the store, is damaged; no copy was kept.
    """
    _check_target(file, target, replace=replace)
    with _part(target) as fresh:
        copy_pages(file, fresh, busy_seconds=busy_seconds)
        copied = _verified(fresh, target)
        _sync(fresh)
        os.replace(fresh, target)
        _sync(target.parent)
    return copied


@frozen(kw_only=True)
class PutBack:
    """The result of restoring a copy.

    Attributes:
        kept: Path of a copy of the former store; empty without one.
        entries: Number of the newest journal entry of each namespace now.
    """

    file: str
    kept: str
    entries: dict[str, int]


def put_back(file: Path, copy: Path, *, prepare: Callable[[Path], None], busy_seconds: float) -> PutBack:
    """Restore a copy in place of the store while others have it open; they notice with their next call.

    A copy of the former store is made first. Writes of others between that copy and the end are in neither file.

    Args:
        file: The store; created if it does not exist.
        copy: A copy of the store.
        prepare: Migrates a store file; called on a duplicate, so the copy itself stays unchanged.
        busy_seconds: Maximum wait for a lock, in seconds.

    Raises:
        StorePathError: The copy does not exist, or is the store itself.
        NotAStore: The copy is not a store, or of another store.
        SchemaTooNew, Corrupt: The copy cannot be used; the store is unchanged.
        Busy: Others held the store for too long; the store is unchanged.
    """
    if not copy.is_file():
        raise StorePathError("there is no such file", where=str(copy), todo="Name a copy made by `wellkept backup`")
    if os.path.realpath(copy) == os.path.realpath(file):
        raise StorePathError("is the store itself", where=str(copy), todo="Name a copy made by `wellkept backup`")
    with _part(file) as duplicate:
        _duplicate(copy, duplicate, busy_seconds=busy_seconds)
        prepare(duplicate)
        copied = _verified(duplicate, copy, strange=True)
        kept = _kept(file, copied, busy_seconds=busy_seconds)
        copy_pages(duplicate, file, busy_seconds=busy_seconds)
    return PutBack(file=str(file), kept=kept, entries=copied.entries)


def _duplicate(copy: Path, duplicate: Path, *, busy_seconds: float) -> None:
    log = Path(f"{copy}-wal")
    if log.exists() and log.stat().st_size:  # a process has opened the copy and written to it
        copy_pages(copy, duplicate, busy_seconds=busy_seconds)
        return
    try:
        shutil.copyfile(copy, duplicate)  # SQLite cannot open it in a read-only folder
    except OSError as error:
        raise StorePathError(f"cannot be read: {error.strerror}", where=str(copy), todo="Check the path") from error


def _kept(file: Path, copied: Copied, *, busy_seconds: float) -> str:
    """Copy the current store to a file beside it; its path, or empty without a store."""
    if not file.exists() or not file.stat().st_size:
        return ""
    session = Session(checked_path(file), busy_seconds=busy_seconds)
    try:
        store_id = session.row("header.read")[0]
    finally:
        session.close()
    if store_id != copied.store_id:
        raise NotAStore("is a copy of another store", where=copied.file, todo="Name another --db to put it there")
    place = file.with_name(f"{file.name}.before-restore")
    number = 2
    while place.exists():
        place, number = file.with_name(f"{file.name}.before-restore-{number}"), number + 1
    return backup(file, place, replace=False, busy_seconds=busy_seconds).file


def copy_pages(source: Path, target: Path, *, busy_seconds: float) -> None:
    """Copy all pages in one transaction of the target; its readers keep their snapshot.

    Raises:
        Busy: Another process held one of the files for too long.
        StorageError: SQLite failed; the subclass gives the reason.
    """
    until = time.monotonic() + busy_seconds

    def waited(status: int, remaining: int, total: int) -> None:
        if time.monotonic() > until and status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise Busy("another process holds the store", where=str(target), todo="Repeat the call as it is")

    ours = theirs = None
    try:
        ours = sqlite3.connect(source, timeout=_PAUSE)
        theirs = sqlite3.connect(target, timeout=_PAUSE)
        ours.backup(theirs, progress=waited, sleep=_PAUSE)
    except sqlite3.Error as error:
        raise translated(error, str(target)) from error
    finally:
        for connection in (theirs, ours):
            if connection is not None:
                connection.close()


def _check_target(file: Path, target: Path, *, replace: bool) -> None:
    if target.is_dir():
        raise StorePathError("the path is a directory", where=str(target), todo="Name a file inside it")
    if not target.parent.is_dir():
        raise StorePathError("the directory does not exist", where=str(target.parent), todo="Create it first")
    real, own = os.path.realpath(target), os.path.realpath(file)
    if real in {own, *(own + end for end in _BESIDE)}:
        raise StorePathError("is the store itself", where=str(target), todo="Name another file")
    if any(os.path.exists(real + end) and os.path.getsize(real + end) for end in ("-wal", "-journal")):
        raise StorePathError("is a store in use", where=str(target), todo="Name another file")
    if target.exists() and not replace:
        raise StorePathError("the file exists", where=str(target), todo="Pass --force to replace it")


@contextmanager
def _part(beside: Path) -> Iterator[Path]:
    """A temporary file in the same folder; it and its log files are removed at the end of the block."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{beside.name}-", suffix=".part", dir=beside.parent)
    except OSError as error:
        raise ReadOnly(
            f"the folder cannot be written: {error.strerror}", where=str(beside.parent), todo="Name another folder"
        ) from error
    os.close(handle)
    part = Path(name)
    try:
        yield part
    finally:
        for left in part.parent.glob(glob.escape(part.name) + "*"):
            with suppress(OSError):  # it was renamed to the target in the meantime
                left.unlink()


def _verified(copy: Path, named: Path, *, strange: bool = False) -> Copied:
    """Verify a copy and return its facts; its log is checkpointed into the file.

    Args:
        copy: The file.
        named: Its path for errors and the result.
        strange: Whether its origin is untrusted; then it must contain only the schema objects of a store.
    """
    session = Session(checked_path(copy), busy_seconds=1.0)
    try:
        session.run("begin.read")
        others = strangers(session) if strange else []
        if others:
            todo = "Name a copy made by `wellkept backup`"
            raise NotAStore(f"unexpected or changed object in the file: {others[0][:80]}", where=str(named), todo=todo)
        found = problems(session)
        if found:
            raise Corrupt(f"the copy is not sound: {found[0]}", where=str(named), todo="Run `wellkept verify`")
        store_id = session.row("header.read")[0]
        entries = dict(session.rows("namespace.seqs"))
        session.rollback()
        session.pragma("wal_checkpoint(TRUNCATE)")
    except StorageError as error:
        if isinstance(error, Corrupt | NotAStore):
            raise
        raise NotAStore("the file is not a Wellkept store", where=str(named), todo="Name another file") from error
    finally:
        session.close()
    return Copied(file=str(named), size=copy.stat().st_size, store_id=store_id, entries=entries)


def _sync(path: Path) -> None:
    """Sync a file, or the entries of a folder, to disk; not every system can open a folder."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        if path.is_dir():
            return
        raise
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
