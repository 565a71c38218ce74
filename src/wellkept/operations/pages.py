"""Pages of long lists: an answer is bounded in its number of items and in its length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pydantic import Field

from wellkept.core.records.codec import dumps
from wellkept.engine.base.inputs import MAX_LIMIT
from wellkept.errors import NotFound
from wellkept.operations.parts import Given

PAGE = 100
"""Default number of items per page."""
PAGE_CHARACTERS = 2_000_000
"""Characters of JSON after which a page ends; its last item may exceed them."""
_SHOWN = 60

T = TypeVar("T")


class Paged(Given):
    """A list that is returned by page."""

    limit: int = Field(PAGE, ge=1, le=MAX_LIMIT, description="At most this many; more says whether others follow.")


def page(items: Iterable[T], limit: int) -> tuple[list[T], bool]:
    """The items of one page, and whether more follow.

    Args:
        items: Read up to one item beyond the page.
        limit: Maximum number of items on the page.

    Example:
        >>> page(iter("abc"), 2), page(iter("ab"), 2)
        ((['a', 'b'], True), (['a', 'b'], False))
    """
    kept: list[T] = []
    left = PAGE_CHARACTERS
    for item in items:
        if len(kept) >= limit or left <= 0:
            return kept, True
        kept.append(item)
        left -= len(dumps(item))
    return kept, False


def items_after(items: Sequence[T], last: str, name: Callable[[T], str]) -> Sequence[T]:
    """The items after the named one; all items for an empty name.

    Raises:
        NotFound: No item has this name.

    Example:
        >>> items_after(["a", "b", "c"], "b", str)
        ['c']
    """
    if not last:
        return items
    for place, item in enumerate(items):
        if name(item) == last:
            return items[place + 1 :]
    raise NotFound(f"{last[:_SHOWN]!r} is not in the list", where="after", todo="Start again without it")
