"""Import and export files: typed errors, line by line reading, a separate file for rejected lines.

Writing never destroys existing data: a store is not overwritten, an export replaces another file only when
it is complete, and a rejects file replaces only a rejects file.
"""

from __future__ import annotations

import gzip
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from wellkept.engine.base.numbered_lines import numbered
from wellkept.errors import InvalidInput, StorePathError
from wellkept.parsing import parsed_json

_SQLITE = b"SQLite format 3"
_BESIDE = ("-wal", "-shm", "-journal", ".queue", ".tokens")
_ELSEWHERE = "Name another file: --rejects OTHER (rejects= in Python)"
_LONGEST_REJECT = 1 << 20
_LONGEST_FIRST = 16 << 20
_CUT_TO = 200
_MOST_REJECTS = 64 << 20
"""Maximum characters kept of rejected lines; the source still has the rest, and the report counts them."""
_REJECT_KEYS = frozenset(("line", "error", "message", "raw"))


def opened(path: Path, *, packed: bool = True) -> IO[bytes]:
    """Open a file for reading; decompressed if allowed and its name ends in `.gz`.

    Raises:
        StorePathError: It cannot be read, or is a pipe, because opening a pipe blocks until it has a writer.
    """
    try:
        if stat.S_ISFIFO(path.stat().st_mode):
            raise StorePathError("is a pipe, not a file", where=str(path), todo="Have it read from standard input: -")
        return cast("IO[bytes]", gzip.open(path, "rb") if packed and path.suffix == ".gz" else path.open("rb"))
    except OSError as error:
        raise StorePathError(f"cannot be read: {error.strerror}", where=str(path), todo="Check the path") from error


def writing(path: Path) -> IO[str]:
    """Open a text file for writing."""
    try:
        # A lone surrogate becomes its escape, which JSON reads back unchanged.
        return path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """A text file for writing that replaces `path` only when it is complete.

    Raises:
        StorePathError: It cannot be written, or it is a store; the existing file is unchanged.
    """
    refuse_store(path)
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe is written to, not replaced
        with writing(path) as out:
            yield out
        return
    target = Path(os.path.realpath(path))  # a symbolic link stays and its target is replaced
    whole = target.with_name(f".wellkept-{secrets.token_hex(8)}.tmp")
    try:
        if os.path.exists(target) and not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is read-only")
        with whole.open("x", encoding="utf-8", errors="backslashreplace") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        if os.path.exists(target):
            shutil.copymode(target, whole)
        os.replace(whole, target)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):  # never created, or already renamed
            whole.unlink()


def refuse_store(path: Path, store: Path | None = None) -> None:
    """Refuse to overwrite a store, or the files that SQLite keeps next to one.

    Args:
        path: The file to be written.
        store: The file of a store that may not exist yet; any SQLite file is refused anyway.

    Raises:
        StorePathError: It is a store.
    """
    own = [] if store is None else [Path(f"{store}{end}") for end in ("", *_BESIDE)]
    target = Path(os.path.realpath(path))
    bases = [Path(str(target).removesuffix(end)) for end in _BESIDE if target.name.endswith(end)]
    if any(same_file(path, one) for one in own) or any(_is_sqlite(one) for one in (target, *bases)):
        todo = "Name another file"
        raise StorePathError("is part of a store and would be destroyed", where=str(path), todo=todo)


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file; the file may not exist."""
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return os.path.realpath(one) == os.path.realpath(other)


def _is_sqlite(path: Path) -> bool:
    if not os.path.isfile(path):
        return False
    with opened(path, packed=False) as data:
        return data.read(len(_SQLITE)) == _SQLITE


def _unwritable(path: Path, error: OSError) -> StorePathError:
    return StorePathError(f"cannot be written: {error.strerror}", where=str(path), todo="Check the path")


def count(path: Path, limit: int | None) -> int:
    """Number of lines that are not blank, up to a limit.

    Raises:
        StorePathError: The file cannot be read to its end.
    """
    with opened(path) as source:
        return sum(limit is None or number <= limit for number, _ in numbered(source, str(path)))


class Rejects:
    """Writes rejected lines to a file that is created with the first one.

    Args:
        source: The file that is imported.
        target: The rejects file; by default next to the source.
        stack: Closes the file.

    Raises:
        StorePathError: The target holds data that would be lost: the source, a store, or anything except the
            rejects of an earlier run.
    """

    def __init__(self, source: Path, target: str | Path | None, stack: ExitStack) -> None:
        self.path = Path(target) if target is not None else source.with_name(source.name + ".rejects.jsonl")
        self._stack = stack
        self._out: IO[str] | None = None
        self._left = _MOST_REJECTS
        if same_file(self.path, source):
            raise StorePathError("is the file that is imported", where=str(self.path), todo=_ELSEWHERE)
        refuse_store(self.path)
        if not _may_be_replaced(self.path):
            raise StorePathError("exists and holds no rejects of an import", where=str(self.path), todo=_ELSEWHERE)

    def __call__(self, row: Mapping[str, Any]) -> None:
        """Write a rejected line; very long lines are cut, and after the limit lines are skipped."""
        if self._left <= 0:
            return
        if self._out is None:
            self._out = self._stack.enter_context(writing(self.path))
        raw = row["raw"]
        if len(raw) > _LONGEST_REJECT:
            row = {**row, "raw": raw[:_CUT_TO], "cut": len(raw)}
        text = json.dumps(row, ensure_ascii=False) + "\n"
        self._left -= len(text)
        if self._left <= 0:
            text = json.dumps({**row, "message": "This line, and those after it, are not kept here", "raw": ""}) + "\n"
        self._out.write(text)


def _may_be_replaced(path: Path) -> bool:
    """Whether no data is lost when rejects are written here."""
    if not os.path.isfile(path):  # a device keeps nothing, and a folder cannot be overwritten
        return not os.path.isdir(path)
    with opened(path, packed=False) as lines:
        start = lines.read(1)
        if start != b"{":  # the first line of another file may be as long as the file
            return not start
        try:
            first = parsed_json(start + lines.readline(_LONGEST_FIRST))
        except InvalidInput:
            return False
    return isinstance(first, dict) and first.keys() >= _REJECT_KEYS
