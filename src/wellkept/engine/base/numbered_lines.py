"""The lines of a file with their numbers, read in blocks, so that long lines and blank runs take bounded memory."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import IO, TypeAlias

from wellkept.errors import StorePathError

Line: TypeAlias = tuple[int, bytes]
"""A line number, from 1, and its line."""

LONGEST = 8 << 20
"""Maximum bytes of a line; of a longer line this many plus one are returned, which shows that it is too long."""
_BLOCK = 1 << 20
_INK = re.compile(rb"\S")


def numbered(source: IO[bytes], name: str, *, most: int = LONGEST) -> Iterator[Line]:
    """The non-blank lines with their line numbers.

    Args:
        source: Read to its end, unless the caller stops earlier.
        name: Name of the file, for errors.
        most: Maximum bytes of a line; of a longer line the first `most` + 1 are returned.

    Raises:
        StorePathError: It cannot be read to its end.

    Example:
        >>> import io
        >>> list(numbered(io.BytesIO(b"one\\n\\n \\nfour, which is long\\nfive"), "notes", most=5))
        [(1, b'one\\n'), (4, b'four, '), (5, b'five')]
    """
    rest, number = b"", 1
    while True:
        block = _read(source, name)
        data, start = rest + block, 0
        while (end := data.find(b"\n", _ink(data, start)) + 1) > 0:
            begin = data.rfind(b"\n", start, _ink(data, start)) + 1 or start
            number += data.count(b"\n", start, begin)
            yield number, data[begin : min(end, begin + most + 1)]
            number, start = number + 1, end
        if not block:
            if data[start:].strip():
                begin = data.rfind(b"\n", start) + 1 or start
                yield number + data.count(b"\n", start, begin), data[begin : begin + most + 1]
            return
        begin = data.rfind(b"\n", start) + 1 or start
        number += data.count(b"\n", start, begin)
        rest = data[begin:]
        if len(rest) > most:
            yield number, rest[: most + 1]
            rest, number = _skipped(source, name), number + 1


def _ink(data: bytes, start: int) -> int:
    """Position of the first byte that is not white space; the end when there is none."""
    found = _INK.search(data, start)
    return len(data) if found is None else found.start()


def _skipped(source: IO[bytes], name: str) -> bytes:
    """Skip the rest of a line whose beginning was read; returns what follows it."""
    while block := _read(source, name):
        end = block.find(b"\n") + 1
        if end:
            return block[end:]
    return b""


def _read(source: IO[bytes], name: str) -> bytes:
    try:
        return source.read(_BLOCK)
    except (OSError, EOFError, zlib.error) as error:  # a damaged or truncated compressed file
        todo = "Mend the file and import it again; what was taken is not taken twice"
        raise StorePathError(f"cannot be read to its end: {error}", where=name, todo=todo) from error
