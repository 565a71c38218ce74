"""Rows of frequent words, kept in memory: FTS5 walks through all rows of a word, even to count them.

What is kept belongs to one journal entry of its namespace. A commit of this process takes it along to the next entry;
after a commit of another process it is read anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places: TypeAlias = NDArray[np.uint32]
    Known: TypeAlias = int | Places
    """The places of a word's rows in ascending order, or their number alone."""

FROM = 200
"""Words in fewer rows are read each time."""
_MOST_BYTES = 16 << 20
_MOST_WORDS = 4096
_HIGHEST = 2**32 - 1


@dataclass(frozen=True, slots=True)
class At:
    """The journal entry up to which what is known is complete.

    Attributes:
        ns: Number of the namespace.
        store_id: Id of the store.
        seq: Number of the entry.
        head: Start of its record, which differs in a store that was restored to an older state.
    """

    ns: int
    store_id: str
    seq: int
    head: str


class FrequentWords:
    """The frequent words of all namespaces of a store; terms are led by the number of their namespace.

    Example:
        >>> import numpy as np
        >>> words, before, after = FrequentWords(), At(1, "s", 7, "a"), At(1, "s", 8, "b")
        >>> words.learn(before, "1_tea", np.arange(300))
        >>> words.advance(before, after, {3: ("1_tea 1_cup", ""), 400: ("", "1_tea")})
        >>> words.known(after, "1_tea")[-2:].tolist(), words.known(before, "1_tea")
        ([299, 400], None)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._words: OrderedDict[str, Known] = OrderedDict()
        self._at: dict[int, At] = {}
        self._bytes = 0

    def known(self, at: At, term: str) -> Known | None:
        """The rows with a term at this entry, or their number; None if that is not known."""
        with self._lock:
            if self._at.get(at.ns) != at or term not in self._words:
                return None
            self._words.move_to_end(term)
            return self._words[term]

    def learn(self, at: At, term: str, rows: int | NDArray[np.int64]) -> None:
        """Keep the rows of a term at this entry, or their number, if they are many."""
        import numpy as np

        if (rows if isinstance(rows, int) else rows.size) < FROM:
            return
        if not isinstance(rows, int) and int(rows.max()) > _HIGHEST:
            return
        kept = rows if isinstance(rows, int) else np.sort(rows).astype(np.uint32)
        with self._lock:
            former = self._at.get(at.ns)
            if former != at:
                if former is not None and former.store_id == at.store_id and former.seq > at.seq:
                    return  # an older snapshot
                self._forget(at.ns)
                self._at[at.ns] = at
            self._put(term, kept)
            while self._bytes > _MOST_BYTES or len(self._words) > _MOST_WORDS:
                self._drop(next(iter(self._words)))

    def advance(self, before: At, after: At, changed: Mapping[int, tuple[str, str]]) -> None:
        """Take what is known from one entry to the next, by the terms that changed rows had before and have after."""
        with self._lock:
            if self._at.get(before.ns) != before:
                return
            gone = self._by_term((place, terms) for place, (terms, _) in changed.items())
            new = self._by_term((place, terms) for place, (_, terms) in changed.items())
            for term in gone.keys() | new.keys():
                self._put(term, _changed(self._words[term], gone.get(term, []), new.get(term, [])))
            self._at[after.ns] = after

    def forget(self, ns: int | None = None) -> None:
        """Forget a namespace, or everything."""
        with self._lock:
            for one in list(self._at) if ns is None else [ns]:
                self._forget(one)

    def _by_term(self, rows: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for place, terms in rows:
            for term in terms.split():
                if term in self._words:
                    found[term].append(place)
        return found

    def _forget(self, ns: int) -> None:
        if self._at.pop(ns, None) is not None:
            for term in [term for term in self._words if term.startswith(f"{ns}_")]:
                self._drop(term)

    def _put(self, term: str, rows: Known) -> None:
        self._bytes += _size(rows) - _size(self._words.get(term, 0))
        self._words[term] = rows

    def _drop(self, term: str) -> None:
        self._bytes -= _size(self._words.pop(term))


def _size(rows: Known) -> int:
    return 0 if isinstance(rows, int) else rows.nbytes


def _changed(rows: Known, gone: list[int], new: list[int]) -> Known:
    if isinstance(rows, int):
        return rows - len(gone) + len(new)
    import numpy as np

    left = rows[~np.isin(rows, gone)] if gone else rows
    return np.sort(np.concatenate([left, np.asarray(new, dtype=np.uint32)]), kind="stable") if new else left
