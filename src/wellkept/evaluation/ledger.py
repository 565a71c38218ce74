"""Ledger of a story: the true values, the rows that state them, and the effect of each write.

The store does not know keys and values; the ledger tracks them in parallel, write by write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from wellkept.evaluation.labelled_files import Act, Query, Write
from wellkept.evaluation.outcome import Change, Kept
from wellkept.frozen import frozen
from wellkept.types import Memory


@frozen
class Said:
    """The content of a row: a value of a key, stated or refined."""

    key: str
    value: str
    act: Act


@frozen(kw_only=True)
class WriteSeen:
    """The effect of one write of a story.

    Attributes:
        kept: Where its text is now.
        is_own_row: Whether it is an active row.
        duplicate_missed: Whether it restates a value that another active row also states.
        wrongly_hidden: Texts that still hold and that it hid.
        stale_left: Whether it updates a value and a row with an older value is still active.
        unmarked: Whether such a row is neither marked as outdated nor listed as contradicted.
        wrongly_folded: Whether it became a wording of a memory that does not say the same.
        wrongly_marked: Texts that still hold and that it marked or listed as contradicted.
        row_id: Id of its row, or of the row that took its text; empty if there is none.
    """

    write: Write
    outcome: str
    kept: Kept
    is_own_row: bool
    duplicate_missed: bool
    wrongly_hidden: tuple[str, ...]
    stale_left: bool
    unmarked: bool = False
    wrongly_folded: bool = False
    wrongly_marked: tuple[str, ...] = ()
    row_id: str = ""
    reasons: tuple[str, ...] = ()
    model: str = ""


@frozen
class QuerySeen:
    """Recall results of a query.

    Attributes:
        texts: Texts of the hits, best first: the memory and the wording that matched, as recall shows them.
        each_once: Whether no two hits state the same value of one key.
    """

    query: Query
    texts: tuple[str, ...]
    each_once: bool = True

    @property
    def is_stale(self) -> bool:
        """Whether the first hit contains an outdated substring."""
        return bool(self.texts) and any(piece in self.texts[0] for piece in self.query.stale)

    def is_current(self, within: int) -> bool:
        """Whether one of the first hits contains the exact answer."""
        return any(self.query.answer in text for text in self.texts[:within])


class Ledger:
    """Tracks one story."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Said]] = {}
        self._current: dict[str, str] = {}

    def said(self, row_id: str) -> tuple[Said, ...]:
        """What a row states, in the order in which it was told."""
        return tuple(self._rows.get(row_id, ()))

    def current(self, key: str) -> str:
        """The value of a key that holds now; empty if there is none."""
        return self._current.get(key, "")

    def take(self, write: Write, change: Change) -> WriteSeen:
        """Evaluate one write and record what its row states."""
        if write.act in ("first", "updates"):
            self._current[write.key] = write.value
        own = change.own
        holder = own if own is not None else change.grown
        hidden = tuple(row.content for row in change.hidden() if self._is_wrong(row, write))
        is_part = change.kept == "evolved"
        if own is not None and not is_part and own.status != "active" and write.act in ("first", "updates", "refines"):
            hidden = (*hidden, own.content)  # superseded at creation, although it holds
        repeat = write.act == "restates" and own is not None and own.status == "active"
        others = {row.id: row for row in change.after.values() if own is None or row.id != own.id}
        marks = [item for item in change.conflicts if item.kind != "duplicate"]
        marked = {item.a for item in marks}
        new = {item.a: item for item in marks if own is not None and item.b == own.id}
        seen = WriteSeen(
            write=write,
            outcome=change.result.outcome if change.result is not None else "refused",
            kept=change.kept,
            is_own_row=own is not None and own.status == "active",
            duplicate_missed=repeat and self._says(others, write.key, current=True),
            wrongly_hidden=hidden,
            stale_left=write.act == "updates" and self._says(others, write.key, current=False),
            unmarked=write.act == "updates"
            and self._says({key: row for key, row in others.items() if key not in marked}, write.key, current=False),
            wrongly_folded=own is not None and own.status == "wording" and not self._repeats(own, write, change.kept),
            wrongly_marked=tuple(
                item.excerpt_a for old, item in new.items() if old in change.before and self._still_holds(old, write)
            ),
            row_id=holder.id if holder is not None else "",
            reasons=tuple(f"{reason.rule}: {reason.detail}" for reason in change.result.reasons)
            if change.result is not None
            else (),
            model=change.model,
        )
        if holder is not None:
            self._rows.setdefault(holder.id, []).append(Said(write.key, write.value, write.act))
        return seen

    def _repeats(self, own: Memory, write: Write, kept: Kept) -> bool:
        """Whether the head of a wording states the value that the write repeats, or has grown by what it adds."""
        said = self._rows.get(own.superseded_by, ())
        acts = ("restates", "late", "refines") if kept == "evolved" else ("restates", "late")
        return write.act in acts and any(item.key == write.key and item.value == write.value for item in said)

    def _still_holds(self, old: str, write: Write) -> bool:
        """Whether a row says nothing that the write replaces or that was replaced before."""
        said = self._rows.get(old, ())
        return not any(item.key == write.key and item.value != write.value for item in said)

    def each_once(self, ids: Iterable[str]) -> bool:
        """Whether no two of these rows state the same value of one key; refinements are ignored."""
        told = Counter(
            fact
            for row in ids
            for fact in {(said.key, said.value) for said in self._rows.get(row, ()) if said.act != "refines"}
        )
        return max(told.values(), default=0) < 2

    def _is_wrong(self, row: Memory, write: Write) -> bool:
        return any(self._holds_on(said, write) for said in self._rows.get(row.id, ()))

    def _holds_on(self, said: Said, write: Write) -> bool:
        """Whether the statement of a row should have remained after this write.

        Rows of other keys should. Rows of the same key may be hidden by an update. A restatement or refinement may
        replace a row with the same value, but not a detail that it does not repeat. A late import may hide nothing that
        holds.
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
        """Whether an active row states the current value (or another one) as its latest of that key."""
        wanted = self._current.get(key)
        for row in rows.values():
            of_key = [said for said in self._rows.get(row.id, ()) if said.key == key]
            if row.status == "active" and of_key and (of_key[-1].value == wanted) is current:
                return True
        return False
