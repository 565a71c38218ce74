"""Files that are imported and exported: opened with typed errors, read line by line, rejects written aside."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast

from wellkept.errors import StorePathError


def opened(path: Path) -> IO[bytes]:
    """A file to read, unpacked on the way if its name ends in `.gz`."""
    try:
        return cast("IO[bytes]", gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb"))
    except OSError as error:
        raise StorePathError(f"cannot be read: {error.strerror}", where=str(path), todo="Check the path") from error


def writing(path: Path) -> IO[str]:
    """A text file to write."""
    try:
        # Half a character becomes its escape, which JSON reads back as it was.
        return path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise StorePathError(f"cannot be written: {error.strerror}", where=str(path), todo="Check the path") from error


def counted(lines: IO[bytes], path: Path, progress: Callable[[int], None] | None) -> Iterator[bytes]:
    """The lines of a file; `progress` is told the bytes read so far."""
    done = 0
    while True:
        try:
            line = lines.readline()
        except (OSError, EOFError, zlib.error) as error:  # a packed file that is damaged or cut off
            todo = "Mend the file and import it again; what was taken is not taken twice"
            raise StorePathError(f"cannot be read to its end: {error}", where=str(path), todo=todo) from error
        if not line:
            return
        done += len(line)
        if progress is not None:
            progress(done)
        yield line


def chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """A line that was read ahead, and the rest."""
    if first:
        yield first
    yield from rest


class Rejects:
    """Writes rejected lines to a file that is made only when there is one."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._path = path
        self._stack = stack
        self._out: IO[str] | None = None

    def __call__(self, row: Mapping[str, Any]) -> None:
        """One more rejected line."""
        if self._out is None:
            self._out = self._stack.enter_context(writing(self._path))
        self._out.write(json.dumps(row, ensure_ascii=False) + "\n")
