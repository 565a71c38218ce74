"""JSON lines of any shape: the rows of an import, as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from wellkept.engine.files import counted, opened
from wellkept.engine.transfer import ImportSpec, Row, rows
from wellkept.policy import Policy

_PEEKED = 20
_MOST = 1_000_000


def memories(file: Path, spec: ImportSpec, policy: Policy) -> Iterator[Row]:
    """The lines of a file, bad ones with their reasons.

    Raises:
        StorePathError: It cannot be read to its end.
    """
    with opened(file) as lines:
        yield from rows(counted(lines, file, None), spec, policy)


def first_value(file: Path) -> object:
    """What the first line that is JSON holds; None when none of the first lines is.

    Raises:
        StorePathError: It cannot be read.
    """
    with opened(file) as data:
        lines = counted(data, file, None)
        for _, raw in zip(range(_PEEKED), lines, strict=False):
            try:
                if len(raw) <= _MOST and raw.strip():
                    return json.loads(raw)
            except (ValueError, RecursionError):
                continue
    return None
