"""JSON lines of any shape: the rows of an import, as they are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from wellkept.engine.base.files import opened
from wellkept.engine.base.numbered_lines import numbered
from wellkept.engine.transfer.import_export import ImportSpec, Row, rows
from wellkept.errors import InvalidInput
from wellkept.parsing import parsed_json
from wellkept.policy import Policy

_PEEKED = 20
_MOST = 1_000_000


def memories(file: Path, spec: ImportSpec, policy: Policy) -> Iterator[Row]:
    """The lines of a file, bad ones with their reasons.

    Raises:
        StorePathError: It cannot be read to its end.
    """
    with opened(file) as lines:
        yield from rows(numbered(lines, str(file)), spec, policy)


def first_value(file: Path) -> object:
    """What the first line that is JSON holds; None when none of the first lines is.

    Raises:
        StorePathError: It cannot be read.
    """
    with opened(file) as data:
        for _, raw in islice(numbered(data, str(file)), _PEEKED):
            try:
                if len(raw) <= _MOST:
                    return parsed_json(raw)
            except InvalidInput:
                continue
    return None
