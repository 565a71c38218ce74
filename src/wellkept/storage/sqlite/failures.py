"""Translation of SQLite errors to Wellkept errors with what, where and what to do."""

from __future__ import annotations

import sqlite3

from wellkept.errors import Busy, Corrupt, Full, InvalidText, NotAStore, ReadOnly, StorageError, StorePathError


def translated(error: Exception, where: str) -> Exception:
    """Translate a SQLite error; other errors are returned unchanged.

    Args:
        error: The error.
        where: The store's file.
    """
    match error:
        case UnicodeEncodeError():
            return InvalidText("a text holds half a character (a lone surrogate)", where=where)
        case sqlite3.Error():
            return _of_code(error, where)
        case _:
            return error


def _of_code(error: sqlite3.Error, where: str) -> StorageError:
    code = getattr(error, "sqlite_errorcode", None)
    text = str(error)
    match None if code is None else code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Busy("another writer holds the store", where=where, todo="Repeat the call as it is")
        case sqlite3.SQLITE_READONLY:
            return ReadOnly("the store cannot be written", where=where, todo="Make the file and its directory writable")
        case sqlite3.SQLITE_FULL:
            return Full("no space is left; nothing was half written", where=where, todo="Make room and repeat the call")
        case sqlite3.SQLITE_CORRUPT:
            return Corrupt("the file is damaged", where=where, todo="Restore a copy; `wellkept verify` says more")
        case sqlite3.SQLITE_NOTADB:
            return NotAStore("the file is not a Wellkept store", where=where, todo="Name another file")
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StorePathError("the file may not be opened", where=where, todo="Check the path and its permissions")
        case sqlite3.SQLITE_IOERR:
            return StorageError(f"the disk failed: {text}", where=where, todo="Check the disk and repeat the call")
        case None if "closed" in text:
            return StorageError("the store is closed", where=where, todo="Open it again")
        case sqlite3.SQLITE_TOOBIG:
            return StorageError("a value is too large for the store", where=where, todo="Shorten the text")
        case _:
            return StorageError(f"SQLite refused a statement: {text}", where=where)
