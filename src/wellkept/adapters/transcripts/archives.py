"""Files of a folder or of a zip archive, read within limits and never unpacked to the disk.

A zip file says itself how large its files are, so that is not believed: what is read is counted.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import IO, Protocol

from wellkept.adapters.folders import files_below
from wellkept.engine.base.files import opened
from wellkept.errors import InvalidInput, NotAStore, StorePathError

MOST_FILES = 50_000
MOST_BYTES = 256 << 20
"""Bytes of the largest file that is read as a whole."""
MOST_IN_ALL = 2 << 30
"""Bytes of all files of an archive."""
_PLAIN = 16 << 20
"""Bytes up to which a file of an archive may be packed in any way."""
_MOST_PACKED = 200
"""Bytes that one byte of an archive may become; conversations become 5 to 20."""
_BLOCK = 1 << 20
_SPLIT = "Divide it, or take in a part of it"


class Files(Protocol):
    """Files by name, below a folder or in an archive."""

    def names(self) -> list[str]:
        """The paths, with slashes, in their order; hidden files are left out."""

    def read(self, name: str) -> bytes:
        """The contents of one file.

        Raises:
            InvalidInput: It is too large.
            StorePathError: It cannot be read.
        """

    def where(self, name: str) -> str:
        """The file as errors name it."""


class Folder:
    """The files of a folder; symbolic links are not followed.

    Args:
        path: The folder, or one file, which is then the only one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        """See `Files`."""
        if self._path.is_file():
            return [self._path.name]
        found = []
        for path in files_below(self._path):
            name = path.relative_to(self._path).as_posix()
            found.append(name)
            if len(found) > MOST_FILES:
                raise NotAStore(f"holds more than {MOST_FILES} files", where=str(self._path), todo=_SPLIT)
        return sorted(found)

    def read(self, name: str) -> bytes:
        """See `Files`."""
        path = self._path if self._path.is_file() else self._path / name
        with opened(path, packed=False) as file:
            return _bounded(file, self.where(name), MOST_BYTES)

    def where(self, name: str) -> str:
        """See `Files`."""
        return str(self._path if self._path.is_file() else self._path / name)


class Archive:
    """The files of a zip archive.

    Args:
        path: The archive.

    Raises:
        NotAStore: It is no zip archive, or holds too many files.
        StorePathError: It cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = MOST_IN_ALL
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise NotAStore(f"is a damaged zip archive: {error}", where=str(path), todo="Download it again") from error
        except OSError as error:
            raise StorePathError(f"cannot be read: {error.strerror}", where=str(path), todo="Check the path") from error
        if len(members) > MOST_FILES:
            raise NotAStore(f"holds more than {MOST_FILES} files", where=str(path), todo=_SPLIT)
        self._members = {one.filename: one for one in members if not one.is_dir() and not _is_hidden(one.filename)}

    def names(self) -> list[str]:
        """See `Files`."""
        return sorted(self._members)

    def read(self, name: str) -> bytes:
        """See `Files`."""
        member, where = self._members[name], self.where(name)
        if member.flag_bits & 1:
            raise InvalidInput("is encrypted", where=where, todo="Unpack it, and name the folder")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # The other ways unpack a block as a whole, before anything of it can be counted.
            raise InvalidInput("is packed in an unusual way", where=where, todo="Unpack it, and name the folder")
        most = min(MOST_BYTES, self._left, max(_PLAIN, _MOST_PACKED * member.compress_size))
        try:
            with zipfile.ZipFile(self._path) as archive, archive.open(member) as file:
                data = _bounded(file, where, most)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise StorePathError(f"is damaged: {error}", where=where, todo="Download the archive again") from error
        self._left -= len(data)
        return data

    def where(self, name: str) -> str:
        """See `Files`."""
        return f"{self._path}, {name}"


def files_of(path: Path) -> Files:
    """The files of a folder, of a zip archive, or one file.

    Raises:
        NotAStore, StorePathError: As `Archive`.
    """
    return Archive(path) if is_zip(path) else Folder(path)


def is_zip(path: Path) -> bool:
    """Whether a path is a zip archive, by its first bytes."""
    if not path.is_file():
        return False
    with opened(path, packed=False) as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def text_of(data: bytes, where: str) -> str:
    """The text of a file in UTF-8.

    Raises:
        InvalidInput: It is not UTF-8; names the line.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput("is not UTF-8", where=f"{where}, line {line}", todo="Convert it to UTF-8") from error


def lines_of(data: bytes) -> IO[bytes]:
    """The contents of a file, to be read line by line."""
    return io.BytesIO(data)


def _bounded(file: IO[bytes], where: str, most: int) -> bytes:
    """The contents of a file, if they are not too large."""
    parts, have = [], 0
    try:
        while block := file.read(_BLOCK):
            have += len(block)
            if have > most:
                what = f"is larger than {most >> 20} MiB"
                raise InvalidInput(what, where=where, todo=_SPLIT)
            parts.append(block)
    except OSError as error:
        raise StorePathError(
            f"cannot be read: {error.strerror or error}", where=where, todo="Check the file"
        ) from error
    return b"".join(parts)


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
