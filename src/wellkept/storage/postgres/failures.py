"""Translation of PostgreSQL errors to Wellkept errors with what, where and what to do."""

from __future__ import annotations

import re
from typing import TypeVar

import psycopg
from psycopg import errors as pg

from wellkept.errors import Busy, Corrupt, Full, InvalidText, ReadOnly, StorageError, StorePathError

_E = TypeVar("_E", bound=StorageError)


class Lost(StorageError):
    """The connection broke; unless the error is `transient`, the commit may or may not have been applied."""


def translated(error: Exception, where: str, *, committing: bool = False) -> Exception:
    """Translate a PostgreSQL error; other errors are returned unchanged.

    Args:
        error: The error.
        where: Host, port and database; never the password.
        committing: Whether a commit raised it; if the connection broke then, its result is unknown. So it is after an
            internal error, because a cluster reports that way what became of its own connection to another server.
    """
    match error:
        case UnicodeEncodeError():
            return InvalidText("a text holds half a character (a lone surrogate)", where=where)
        case pg.UntranslatableCharacter() | pg.CharacterNotInRepertoire():
            return InvalidText("a text holds a character the database cannot keep", where=where)
        case psycopg.DataError() if error.sqlstate is None:  # rejected by the driver
            return InvalidText(f"a text cannot be kept: {_first_line(error)}", where=where)
        case psycopg.Error() if committing and (_is_lost(error) or isinstance(error, psycopg.InternalError)):
            return doubtful(where, error)
        case psycopg.Error() if server := _other_server(error):
            return away(where, server)
        case psycopg.Error() if _is_lost(error):
            return undone(where)
        case psycopg.Error():
            return _of_state(error, where)
        case _:
            return error


def undone(where: str) -> Lost:
    """The error for a connection that broke before the commit."""
    return passing(
        Lost(
            "the connection to the server was lost; nothing was written",
            where=where,
            todo="Repeat the call as it is",
        )
    )


def doubtful(where: str, error: psycopg.Error) -> Lost:
    """The error for a commit whose result is unknown."""
    server = _other_server(error)
    return Lost(
        f"the server {server} of the cluster was lost" if server else "the connection to the server was lost",
        where=where,
        todo="Repeat the call; with its idempotency key it is not written twice",
    )


def away(where: str, server: str) -> Lost:
    """The error for another server of the cluster that the one of the address cannot reach."""
    return passing(
        Lost(
            f"the server {server} of the cluster cannot be reached; nothing was written",
            where=where,
            todo="Repeat the call as it is; namespaces on other servers go on",
        )
    )


def passing(error: _E) -> _E:
    """The same error, marked as transient."""
    error.transient = True
    return error


def unreachable(error: psycopg.Error, where: str) -> StorageError:
    """The error for a failed connection attempt, by the message of the server or the network."""
    text = str(error)
    lowered = text.lower()
    if "password authentication failed" in lowered or "no password supplied" in lowered:
        return StorePathError("the server refused the user or the password", where=where, todo="Check both")
    if "no pg_hba.conf entry" in lowered or 'role "' in lowered or "not permitted to log in" in lowered:
        return StorePathError(
            "the server lets this user not in", where=where, todo="Check the user and the server's rules of access"
        )
    if 'database "' in lowered and "does not exist" in lowered:
        return StorePathError("the database does not exist", where=where, todo="Create it first")
    if "too many clients" in lowered or "remaining connection slots" in lowered:
        return passing(Busy("the server takes no more connections", where=where, todo="Repeat the call as it is"))
    if "starting up" in lowered or "shutting down" in lowered or "recovery" in lowered:
        return passing(Busy("the server is starting or stopping", where=where, todo="Repeat the call as it is"))
    told = f"the server cannot be reached: {_first_line(error)}"
    return passing(StorePathError(told, where=where, todo="Check host, port and the server"))


def _of_state(error: psycopg.Error, where: str) -> StorageError:
    match error:
        case pg.LockNotAvailable():
            return Busy(
                "blocked by another writer or by a table lock",
                where=where,
                todo="Repeat the call as it is",
            )
        case pg.SerializationFailure() | pg.DeadlockDetected():
            return passing(_given_up(where))
        case pg.QueryCanceled():  # by the time limit or by an administrator; not retried
            return Busy(
                "a statement took longer than it may, or somebody ended it",
                where=where,
                todo="Repeat the call later, or raise statement_seconds",
            )
        case pg.ReadOnlySqlTransaction():
            return ReadOnly("this server only reads", where=where, todo="Name the primary in the URL")
        case pg.InsufficientPrivilege():
            return ReadOnly(f"the user lacks a right: {_first_line(error)}", where=where, todo="Grant it to the user")
        case pg.DiskFull() | pg.OutOfMemory():
            return Full("no space is left; nothing was half written", where=where, todo="Make room and repeat the call")
        case pg.DataCorrupted() | pg.IndexCorrupted():
            return Corrupt(f"the database is damaged: {_first_line(error)}", where=where, todo="Restore a backup")
        case pg.UndefinedTable() | pg.UndefinedColumn() | pg.InvalidSchemaName():
            return Corrupt(
                f"the store's tables are not what they should be: {_first_line(error)}",
                where=where,
                todo="Restore a backup",
            )
        case pg.ProgramLimitExceeded() | pg.StringDataRightTruncation():
            return StorageError("a value is too large for the store", where=where, todo="Shorten the text")
        case _:
            return StorageError(f"PostgreSQL refused a statement: {_first_line(error)}", where=where)


def _given_up(where: str) -> Busy:
    return Busy("the server gave up a statement for others", where=where, todo="Repeat the call as it is")


def _is_lost(error: psycopg.Error) -> bool:
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state[:2] == "08" or state in ("57P01", "57P02", "57P03", "57P05", "25P03", "25P04")


_OTHER_SERVER = re.compile(r"remote node (?:[^\s@]{1,200}@)?([^\s@]{1,300})")


def _other_server(error: psycopg.Error) -> str:
    """The server that the error names as one that the server of the address has lost; empty for the latter itself."""
    if error.sqlstate is None or error.sqlstate[:2] != "08":
        return ""
    found = _OTHER_SERVER.search(str(error)[:2000])
    return found[1] if found else ""


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
