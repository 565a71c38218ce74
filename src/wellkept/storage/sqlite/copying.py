"""Copies of a whole store: one taken while others write, and one put back while others read.

Both go through SQLite's own backup, page by page under its locks. Copying or renaming the files of a store that is
in use can lose what stands in the log, or lay an old log over a new file; nothing here does that.
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
from dataclasses import dataclass
from pathlib import Path

from wellkept.errors import Busy, Corrupt, NotAStore, ReadOnly, StorageError, StorePathError
from wellkept.storage.sqlite.failures import translated
from wellkept.storage.sqlite.opening import checked_path
from wellkept.storage.sqlite.schema_objects import strangers
from wellkept.storage.sqlite.session import Session
from wellkept.storage.sqlite.verify import problems

_BESIDE = ("-wal", "-shm", "-journal")
_PAUSE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A verified copy.

    Attributes:
        file: Where it is.
        size: Bytes.
        store_id: Which store it is of; a copy has the id of the store.
        entries: The newest journal entry of each namespace.
    """

    file: str
    size: int
    store_id: str
    entries: dict[str, int]


def backup(file: Path, target: Path, *, replace: bool, busy_seconds: float) -> Copied:
    """Copy the store to a file that is there only when it is whole, on the disk and verified.

    Args:
        file: The store; others may write meanwhile, and the copy is one moment of it.
        target: Where to.
        replace: Whether a file that is there may be replaced; a store's own files never are.
        busy_seconds: How long a lock is waited for.

    Raises:
        StorePathError: The target exists, or cannot be written, or is the store.
        Corrupt: The copy is not sound, so the store is not; nothing was kept.
    """
    _check_target(file, target, replace=replace)
    with _part(target) as fresh:
        copy_pages(file, fresh, busy_seconds=busy_seconds)
        copied = _verified(fresh, target)
        _sync(fresh)
        os.replace(fresh, target)
        _sync(target.parent)
    return copied


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBack:
    """A copy that took the store's place.

    Attributes:
        kept: The store as it was before, as a copy of its own; empty when there was none.
        entries: The newest journal entry of each namespace now.
    """

    file: str
    kept: str
    entries: dict[str, int]


def put_back(file: Path, copy: Path, *, prepare: Callable[[Path], None], busy_seconds: float) -> PutBack:
    """Put a copy in the store's place while others have it open; they notice with their next call.

    The store as it was is kept beside it first. What others write between that and the end is in neither.

    Args:
        file: The store; made when it is not there.
        copy: A copy of it.
        prepare: Brings a store's file to the present schema, on a duplicate; the copy itself stays as it is.
        busy_seconds: How long a lock is waited for.

    Raises:
        StorePathError: There is no such copy, or it is the store itself.
        NotAStore: It is a copy of something else, or of another store.
        SchemaTooNew, Corrupt: Why it cannot be used; the store is as it was.
        Busy: Others held the store for too long; it is as it was.
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
    if log.exists() and log.stat().st_size:  # somebody has opened the copy and written to it
        copy_pages(copy, duplicate, busy_seconds=busy_seconds)
        return
    try:
        shutil.copyfile(copy, duplicate)  # SQLite could not open it in a folder that may only be read
    except OSError as error:
        raise StorePathError(f"cannot be read: {error.strerror}", where=str(copy), todo="Check the path") from error


def _kept(file: Path, copied: Copied, *, busy_seconds: float) -> str:
    """Where the present store was kept; empty when there is none."""
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
    """Copy all pages as one transaction of the target; those who read it keep their snapshot.

    Raises:
        Busy: Others held one of them for too long.
        StorageError: One of its kinds says what SQLite refused.
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
    """A new file of our own in the same folder, gone with all that is kept beside it when the block ends."""
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
            with suppress(OSError):  # it has taken its place meanwhile
                left.unlink()


def _verified(copy: Path, named: Path, *, strange: bool = False) -> Copied:
    """What the copy holds, once it was found sound; its log is folded into the file.

    Args:
        copy: The file.
        named: What to call it.
        strange: Whether it may come from anybody, so that it may hold nothing but what a store has.
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
    """Have the disk keep a file, or the names in a folder; not every system can open a folder."""
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
