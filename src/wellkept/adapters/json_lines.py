"""JSON lines with any fields, read as rows of an import."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from wellkept.engine.base.files import opened
from wellkept.engine.base.numbered_lines import numbered
from wellkept.engine.transfer.import_lines import ImportSpec, Row, rows
from wellkept.errors import InvalidInput
from wellkept.parsing import parsed_json
from wellkept.policy import Policy

_PEEKED = 20
_MOST = 1_000_000


def memories(file: Path, spec: ImportSpec, policy: Policy) -> Iterator[Row]:
    """The lines of a file; bad lines with their errors.

    Raises:
        StorePathError: The file cannot be read completely.
    """
    with opened(file) as lines:
        yield from rows(numbered(lines, str(file)), spec, policy)


def first_value(file: Path) -> object:
    """The value of the first line that is JSON; None if none of the first lines is.

    Raises:
        StorePathError: The file cannot be read.
    """
    with opened(file) as data:
        for _, raw in islice(numbered(data, str(file)), _PEEKED):
            try:
                if len(raw) <= _MOST:
                    return parsed_json(raw)
            except InvalidInput:
                continue
    return None
