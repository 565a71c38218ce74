"""Opening a file: check it, create the store, migrate an old one."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TypeAlias

from wellkept.errors import Busy, Corrupt, NotAStore, ReadOnly, SchemaTooNew, StorePathError
from wellkept.storage.memory_rows import WORDS_VERSION
from wellkept.storage.sqlite.file_length import said_size
from wellkept.storage.sqlite.schema_objects import acting
from wellkept.storage.sqlite.session import Session
from wellkept.storage.sqlite.sql import APPLICATION_ID, SCHEMA_VERSION, migrations, schema, statements

_MAGIC = b"SQLite format 3\x00"
_HEADER = 100
_WAL_TRIES = 200

Place: TypeAlias = tuple[int, int]
"""Identity of a file independent of its name: device and inode."""


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The absolute path of a file that is a store or can become one.

    Raises:
        StorePathError, ReadOnly, NotAStore, Corrupt: It is no store and cannot become one.
    """
    text = os.fspath(path)
    if not text or text == ":memory:" or "\0" in text:
        raise StorePathError("the path names no file", where=repr(text), todo="Name a file, or use memory://")
    file = Path(text).absolute()
    if file.is_dir():
        raise StorePathError("the path is a directory", where=str(file), todo="Name a file inside it")
    if not file.parent.is_dir():
        raise StorePathError("the directory does not exist", where=str(file.parent), todo="Create it first")
    if not os.access(file.parent, os.W_OK):
        raise ReadOnly(
            "the directory cannot be written", where=str(file.parent), todo="SQLite keeps a -wal file beside the store"
        )
    if file.exists():
        _check_file(file)
    return file


def place_of(file: Path) -> Place:
    """Identity of the file that currently has this name.

    Raises:
        StorePathError: The file no longer exists.
    """
    try:
        found = os.stat(file)
    except OSError as error:
        raise StorePathError(
            f"the store's file is gone: {error.strerror}", where=str(file), todo="Put it, or a copy of it, back"
        ) from error
    return found.st_dev, found.st_ino


def _check_file(file: Path) -> None:
    if not file.is_file():
        raise StorePathError("the path is a device or a pipe, not a file", where=str(file), todo="Name another file")
    if not os.access(file, os.R_OK):
        raise StorePathError("the file may not be read", where=str(file), todo="Check its permissions")
    if not os.access(file, os.W_OK):
        raise ReadOnly("the file cannot be written", where=str(file), todo="Check its permissions")
    beginning = _beginning(file)
    if beginning and not beginning.startswith(_MAGIC):
        raise NotAStore("the file is not a Wellkept store", where=str(file), todo="Name another file")
    if beginning and _is_cut_off(beginning, file):
        raise Corrupt("the file is cut off", where=str(file), todo="Restore a copy")


def _beginning(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(_HEADER)
    except OSError as error:
        raise StorePathError(f"the file cannot be read: {error.strerror}", where=str(file)) from error


def _is_cut_off(beginning: bytes, file: Path) -> bool:
    """Whether the file is shorter than its header says. While there is a log or a journal, pages may still be missing.

    Another process may move pages into the file just now. It writes the header first and removes the log or journal
    last, and it changes the header before it shortens a file. So these are looked for before the length is read, and
    the header has to be the same afterwards.
    """
    if len(beginning) < _HEADER:
        return True
    if any(_is_there(file.with_name(file.name + ending)) for ending in ("-wal", "-journal")):
        return False
    return file.stat().st_size < said_size(beginning) and _beginning(file) == beginning


def _is_there(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def prepare(session: Session, file: Path) -> None:
    """Create the store in an empty file; otherwise check and migrate it.

    Raises:
        NotAStore, Corrupt, SchemaTooNew, Busy: The file cannot be used.
    """
    if _is_empty(session):
        _create(session)
    if session.pragma("application_id") != APPLICATION_ID:
        raise NotAStore(
            "the file is a SQLite database, but not a Wellkept store", where=str(file), todo="Name another file"
        )
    found = acting(session)
    if found:
        todo = "Drop it if you have made it, or name another file"
        what = f"the file contains {found[0][:80]}, which a Wellkept store never contains"
        raise NotAStore(what, where=str(file), todo=todo)
    version = session.pragma("user_version")
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"the store has schema {version}, this release knows {SCHEMA_VERSION}",
            where=str(file),
            todo="Upgrade wellkept",
        )
    _use_wal(session, file)
    if version < SCHEMA_VERSION:
        _migrate(session, file)


def _is_empty(session: Session) -> bool:
    tables = session.row("opening.tables")[0]
    marks = (tables, session.pragma("application_id"), session.pragma("user_version"))
    return marks == (0, 0, 0)


def _create(session: Session) -> None:
    with session.writing():
        if _is_empty(session):  # another process may have created it first
            for statement in statements(schema()):
                session.execute(statement)
            session.run("embedder.create")
            session.run("header.create", {"words": WORDS_VERSION})
            session.pragma(f"user_version = {SCHEMA_VERSION}")
            session.pragma(f"application_id = {APPLICATION_ID}")


def _use_wal(session: Session, file: Path) -> None:
    # Switching to WAL needs an exclusive lock, for which SQLite does not wait.
    pause = threading.Event()
    for _ in range(_WAL_TRIES):
        try:
            mode = session.pragma("journal_mode = WAL")
        except Busy:
            pause.wait(0.02)
            continue
        if mode == "wal":
            return
        raise StorePathError("the disk does not support write-ahead logging", where=str(file), todo="Use a local disk")
    raise Busy("another process keeps the store for itself", where=str(file), todo="Repeat the call as it is")


def _migrate(session: Session, file: Path) -> None:
    """Migrate an old schema in one transaction; a copy of the old file is kept beside it."""
    with session.writing():
        version = session.pragma("user_version")
        if version < SCHEMA_VERSION:
            _keep_copy(file)
            for leads_to, script in migrations():
                if leads_to > version:
                    for statement in statements(script):
                        session.execute(statement)
            session.pragma(f"user_version = {SCHEMA_VERSION}")


def _keep_copy(file: Path) -> None:
    kept = file.with_name(f"{file.name}.before-v{SCHEMA_VERSION}")
    fresh = kept.with_name(kept.name + ".part")
    fresh.unlink(missing_ok=True)
    reader = Session(file, busy_seconds=1.0)
    try:
        reader.copy_to(fresh)
    finally:
        reader.close()
    os.replace(fresh, kept)
