"""The rows of a namespace by age, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wellkept.errors import Corrupt
from wellkept.storage.port import Tx
from wellkept.types import Filter, Memory


def pages(tx: Tx, where: Filter, *, size: int) -> Iterator[list[Memory]]:
    """All matching rows, one page at a time.

    Args:
        tx: A transaction.
        where: Which rows.
        size: Rows of a page, 1 or more.

    Raises:
        Corrupt: The pages are not in order, because a stored time differs from that of its record.
    """
    while rows := tx.find(where, limit=size):
        yield rows
        where = following(where, rows)


def following(where: Filter, rows: list[Memory]) -> Filter:
    """The filter for the next page.

    Raises:
        Corrupt: The page is not after the previous one.
    """
    last = (rows[-1].created_at, rows[-1].id)
    if where.after is not None and last <= where.after:
        raise Corrupt("the stored times of memories are not those of their records", todo="Run `wellkept verify`")
    return replace(where, after=last)
