"""Read-only access to SQLite files of other tools, without side effects and never during a write.

Nothing is written to the file or next to it. A file in WAL mode is opened as immutable if its log is empty. Otherwise
file and log are copied and the copy is read, so that the log is neither missed nor merged. Extensions are never loaded;
only real tables are read.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path

from wellkept.errors import Busy, Corrupt, NotAStore, SchemaTooNew, StorageError, StorePathError

MAGIC = b"SQLite format 3\x00"
_HEADER = 100
_WAIT_SECONDS = 2.0
_NAME = re.compile(r"^-- name: (\S+)$", re.MULTILINE)
_BESIDE = ("", "-wal", "-journal")
_AGAIN = "Close the program that writes it, or read a copy"


@cache
def queries() -> Mapping[str, str]:
    """SQL statements by name, from `queries.sql`."""
    parts = _NAME.split(files(__package__).joinpath("queries.sql").read_text(encoding="utf-8"))
    return dict(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True))


def is_sqlite(path: Path) -> bool:
    """Whether a file has the SQLite header."""
    return head(path, len(MAGIC)) == MAGIC


def head(path: Path, count: int) -> bytes:
    """The first bytes of a file.

    Raises:
        StorePathError: The file cannot be read.
    """
    try:
        with path.open("rb") as data:
            return data.read(count)
    except OSError as error:
        raise StorePathError(f"cannot be read: {error.strerror}", where=str(path), todo="Check the path") from error


class Database:
    """An open database of another tool.

    Args:
        connection: The connection.
        path: Its path, for messages.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._tables: dict[str, frozenset[str]] | None = None

    @property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """Columns of every real table; views and virtual tables are excluded because they can run code."""
        if self._tables is None:
            names = [str(row["name"]) for row in self.rows("tables")]
            self._tables = {
                name: frozenset(str(row["name"]) for row in self.rows("columns", (name,))) for name in names
            }
        return self._tables

    def rows(self, query: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """All rows of a named statement, fetched at once so that no lock is held while they are used."""
        return self._connection.execute(queries()[query], values).fetchall()

    def require(self, tables: Mapping[str, Sequence[str]], *, what: str) -> None:
        """Refuse an unknown layout.

        Args:
            tables: Required columns by table.
            what: The tool, as in "a Chroma store".

        Raises:
            SchemaTooNew: A table or column is missing.
        """
        for name, columns in tables.items():
            missing = sorted(set(columns) - self.tables.get(name, frozenset()))
            if missing:
                lacks = f"{name}.{missing[0]}" if name in self.tables else f"table {name}"
                raise SchemaTooNew(
                    f"this {what} has another layout than is known: there is no {lacks}",
                    where=str(self._path),
                    todo="Update Wellkept, or export the store to JSON lines with its own tool",
                )


@contextmanager
def looking_at(path: Path) -> Iterator[Database]:
    """Open a SQLite file of another tool for reading.

    Raises:
        NotAStore: Not a SQLite file, or empty.
        Corrupt: Truncated or damaged.
        Busy: Another program is writing it.
        SchemaTooNew: The file format is newer than the SQLite library.
        StorePathError: The file cannot be read.
    """
    header = head(path, _HEADER)
    if not header:
        raise NotAStore("is empty", where=str(path), todo="Name the store that your agent writes to")
    if not header.startswith(MAGIC):
        raise NotAStore("is not an SQLite database", where=str(path), todo="Name the store that your agent writes to")
    if len(header) < _HEADER:
        raise _cut_off(path)
    if header[19] > 2:
        raise SchemaTooNew("is written in a newer SQLite format", where=str(path), todo="Update SQLite")
    before = _traces(path)
    try:
        with _place(path, wal=header[19] == 2, pending=before[1] + before[2] > 0) as uri:
            with closing(sqlite3.connect(uri, uri=True, timeout=_WAIT_SECONDS)) as connection:
                _harden(connection)
                if not before[1] and not before[2]:
                    _require_whole(path, header)
                yield Database(connection, path)
    except sqlite3.Error as error:
        raise _typed(error, path) from error
    if _traces(path) != before:
        raise Busy("was changed while it was read", where=str(path), todo=_AGAIN)


@contextmanager
def _place(path: Path, *, wal: bool, pending: bool) -> Iterator[str]:
    """URI to read: the file, or a copy if reading would have side effects or miss the log."""
    where = path.absolute().as_uri()
    if not pending:
        # In rollback mode reading uses SQLite's shared lock and leaves nothing behind. In WAL mode even a
        # reader creates files, unless the file is opened as immutable.
        yield f"{where}?mode=ro&immutable=1" if wal else f"{where}?mode=ro"
        return
    with tempfile.TemporaryDirectory(prefix="wellkept-look-") as folder:
        copy = Path(folder, "copy.db")
        try:
            for end in _BESIDE:
                if Path(f"{path}{end}").exists():
                    shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        except OSError as error:
            raise StorePathError(f"cannot be copied: {error.strerror}", where=str(path), todo=_AGAIN) from error
        yield copy.as_uri()


def _harden(connection: sqlite3.Connection) -> None:
    connection.row_factory = sqlite3.Row
    # Invalid UTF-8 makes one bad row and does not end the reading.
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    for pragma in ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON", "PRAGMA query_only = ON"):
        connection.execute(pragma)


def _traces(path: Path) -> tuple[int, int, int, int]:
    """Sizes of the file, its WAL and its journal, and the latest modification time."""
    sizes = []
    changed = 0
    for end in _BESIDE:
        try:
            state = Path(f"{path}{end}").stat()
        except FileNotFoundError:
            sizes.append(0)
            continue
        except OSError as error:
            raise StorePathError(f"cannot be read: {error.strerror}", where=str(path), todo="Check the path") from error
        sizes.append(state.st_size)
        changed = max(changed, state.st_mtime_ns)
    return sizes[0], sizes[1], sizes[2], changed


def _require_whole(path: Path, header: bytes) -> None:
    """Refuse a file shorter than its header states; SQLite notices only when it reads that far."""
    size = int.from_bytes(header[16:18], "big")
    size = 65_536 if size == 1 else size
    pages = int.from_bytes(header[28:32], "big")
    trusted = header[24:28] == header[92:96]
    if trusted and pages * size > path.stat().st_size:
        raise _cut_off(path)


def _cut_off(path: Path) -> Corrupt:
    return Corrupt("is truncated", where=str(path), todo="Restore it from a backup, or repair it with its own tool")


def _typed(error: sqlite3.Error, path: Path) -> StorageError:
    if "locked" in str(error) or "busy" in str(error):
        return Busy("is locked by another program", where=str(path), todo=_AGAIN)
    if isinstance(error, sqlite3.OperationalError) and "unable to open" in str(error):
        return StorePathError("cannot be opened", where=str(path), todo="Check the path and its permissions")
    return Corrupt(f"is damaged: {error}", where=str(path), todo="Restore it, or repair it with its own tool")
