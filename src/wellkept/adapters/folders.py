"""The files of a folder that readers look at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from wellkept.errors import StorePathError


def files_below(folder: Path) -> Iterator[Path]:
    """The visible files below a folder, a folder at a time; links are not followed.

    Raises:
        StorePathError: A folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        where = str(error.filename or folder)
        raise StorePathError(f"cannot be read: {error.strerror}", where=where, todo="Check the path") from error

    for here, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(here, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path
