"""What is true in a story, which row says it, and what each write did to that.

The store knows nothing of keys and values; the ledger follows them beside it, write by write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wellkept.evaluation.labelled_files import Act, Query, Write
from wellkept.evaluation.outcome import Change, Kept
from wellkept.types import Memory


@dataclass(frozen=True, slots=True)
class Said:
    """What a row says: the value of a key, and whether it came as a statement or as a detail."""

    key: str
    value: str
    act: Act


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSeen:
    """What one write of a story led to.

    Attributes:
        kept: Where its text is now.
        is_own_row: Whether it is a current row of its own.
        duplicate_missed: Whether it restates a value and stands beside another current row that says it.
        wrongly_hidden: Texts that hold and that it hid.
        stale_left: Whether it updates a value and a row with an older one is still current.
    """

    write: Write
    outcome: str
    kept: Kept
    is_own_row: bool
    duplicate_missed: bool
    wrongly_hidden: tuple[str, ...]
    stale_left: bool
    reasons: tuple[str, ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class QuerySeen:
    """What recall showed for a query.

    Attributes:
        texts: Those of its hits, best first.
        each_once: Whether no two of the hits say the same value of one key.
    """

    query: Query
    texts: tuple[str, ...]
    each_once: bool = True

    @property
    def is_stale(self) -> bool:
        """The first hit contains a piece that must not rank first."""
        return bool(self.texts) and any(piece in self.texts[0] for piece in self.query.stale)

    def is_current(self, within: int) -> bool:
        """One of the first hits contains the answer, to the letter."""
        return any(self.query.answer in text for text in self.texts[:within])


class Ledger:
    """Follows one story."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Said]] = {}
        self._current: dict[str, str] = {}

    def take(self, write: Write, change: Change) -> WriteSeen:
        """Judge what one write did, and remember what its row says."""
        if write.act in ("first", "updates"):
            self._current[write.key] = write.value
        own = change.own
        holder = own if own is not None else change.grown
        hidden = tuple(row.content for row in change.hidden() if self._is_wrong(row, write))
        if own is not None and own.status != "active" and write.act in ("first", "updates", "refines"):
            hidden = (*hidden, own.content)  # hidden at birth, though it is what holds now
        repeat = write.act == "restates" and own is not None and own.status == "active"
        others = {row.id: row for row in change.after.values() if own is None or row.id != own.id}
        seen = WriteSeen(
            write=write,
            outcome=change.result.outcome if change.result is not None else "refused",
            kept=change.kept,
            is_own_row=own is not None and own.status == "active",
            duplicate_missed=repeat and self._says(others, write.key, current=True),
            wrongly_hidden=hidden,
            stale_left=write.act == "updates" and self._says(others, write.key, current=False),
            reasons=tuple(f"{reason.rule}: {reason.detail}" for reason in change.result.reasons)
            if change.result is not None
            else (),
            model=change.model,
        )
        if holder is not None:
            self._rows.setdefault(holder.id, []).append(Said(write.key, write.value, write.act))
        return seen

    def each_once(self, ids: Iterable[str]) -> bool:
        """Whether no two of these rows say the same value of one key; a refinement says something more."""
        told = Counter(
            fact
            for row in ids
            for fact in {(said.key, said.value) for said in self._rows.get(row, ()) if said.act != "refines"}
        )
        return max(told.values(), default=0) < 2

    def _is_wrong(self, row: Memory, write: Write) -> bool:
        return any(self._holds_on(said, write) for said in self._rows.get(row.id, ()))

    def _holds_on(self, said: Said, write: Write) -> bool:
        """Whether what a row says should have stayed when this was written.

        Another key's row always should. Of the same key, an update may hide everything; a restatement
        or a refinement may take the place of a row with the same value, but not of a detail, which
        it does not repeat; a late import may hide nothing that holds.
        """
        if said.key != write.key:
            return True
        is_current = self._current.get(said.key) == said.value
        match write.act:
            case "first" | "updates":
                return False
            case "restates" | "refines":
                return is_current and said.act == "refines"
            case _:
                return is_current

    def _says(self, rows: Mapping[str, Memory], key: str, *, current: bool) -> bool:
        """Whether a current row says the value that holds (or one that does not) and nothing newer of that key."""
        wanted = self._current.get(key)
        for row in rows.values():
            of_key = [said for said in self._rows.get(row.id, ()) if said.key == key]
            if row.status == "active" and of_key and (of_key[-1].value == wanted) is current:
                return True
        return False
