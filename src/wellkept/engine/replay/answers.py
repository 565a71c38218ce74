"""The answers of a journal in a replay: what they taught then, and whether the replayed decisions agree with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from wellkept.core.asking.answer_text import answer_of
from wellkept.core.asking.learning import FORGETS, Forgetting, Lesson, forgotten
from wellkept.core.asking.state import state_of, state_text
from wellkept.engine.history.lessons import learned, lesson_in
from wellkept.engine.history.past import Past
from wellkept.errors import InvalidAnswer
from wellkept.types import AnswerPart, AnswerVerb, JournalEntry, QuestionRecord, WriteResult
from wellkept.types.replay import Agreement, ReplayAnswers


class Answers:
    """Follows the answers in the order of the journal.

    What an answer teaches is known to the decisions after it, as it was then. So the same journal gives the same
    replay, whatever the store has learned since.

    Args:
        past: The scratch store; it remembers the lessons.
    """

    def __init__(self, past: Past) -> None:
        self._past = past
        self._asked: dict[int, tuple[QuestionRecord, WriteResult, bool]] = {}
        self._given: dict[int, tuple[JournalEntry, int]] = {}
        self._counts: Counter[Agreement] = Counter()
        self._taught: dict[int, tuple[Lesson | Forgetting, bool]] = {}
        self._forgets: dict[int, tuple[int, bool]] = {}
        self._standing: set[int] = set()

    def decided(self, entry: JournalEntry, result: WriteResult, *, differs: bool) -> None:
        """Keep the replayed decision about a write that asked."""
        if entry.asks is not None:
            self._asked[entry.seq] = (entry.asks, result, differs)

    def follow(self, entry: JournalEntry) -> None:
        """Count an answer, and learn from it; the undo of an answer takes both back. Forget what was forgotten then.

        What an import brought along is learned then, too.
        """
        self._forget(entry)
        acts = bool(entry.answers) or lesson_in(entry) is not None
        given, times = (entry, 1) if acts else self._given.get(entry.undoes, (entry, 0))
        if not times:
            return
        times = times if acts else -times
        self._given[entry.seq] = (given, times)
        lesson = lesson_in(given)
        if lesson is not None:
            self._taught[given.seq] = (lesson, times > 0)
            state = state_of(self._past.asking())
            if given.seq > state.forgotten:
                self._past.note_asking(state_text(learned(state, lesson, times=times)))
        agreement = self._agreement(given)
        if agreement is not None:
            self._counts[agreement] += times

    def _forget(self, entry: JournalEntry) -> None:
        """Remove the lessons learned before a reset entry; undoing that entry restores them."""
        first, stood = (entry.seq, False) if entry.verb == FORGETS else self._forgets.get(entry.undoes, (0, False))
        if not first:
            return
        self._forgets[entry.seq] = first, not stood
        (self._standing.discard if stood else self._standing.add)(first)
        state = forgotten(state_of(self._past.asking()), max(self._standing, default=0))
        for number, (lesson, stands) in self._taught.items():
            if stands and number > state.forgotten:
                state = learned(state, lesson)
        self._past.note_asking(state_text(state))

    def is_overtaken(self, entry: JournalEntry) -> bool:
        """Whether the replayed policy decides without a question, and otherwise than before, what the entry answers."""
        given = entry if entry.answers else self._given.get(entry.undoes, (entry, 0))[0]
        asked = self._asked.get(given.answers)
        return asked is not None and asked[2] and self._agreement(given) != "undecided"

    def report(self) -> ReplayAnswers:
        """How the replayed decisions compare with the answers that stand."""
        counts = self._counts
        return ReplayAnswers(agreed=counts["agreed"], disagreed=counts["disagreed"], undecided=counts["undecided"])

    def _agreement(self, given: JournalEntry) -> Agreement | None:
        asked = self._asked.get(given.answers)
        said = next((one.detail for one in given.reasons if one.rule == "answer"), "")
        if asked is None or not said:
            return None
        record, result, _ = asked
        try:
            parts = answer_of(said, {one.number for one in record.chances})
        except InvalidAnswer:
            return None
        candidates = {one.memory_id for one in record.chances}
        head = result.memory.id if result.outcome in _BEHIND and result.memory is not None else ""
        replaced = {one.a for one in result.conflicts if one.kind == "outdated"} & candidates
        replaced |= {one.dst for one in result.links if one.rel == "supersedes"} & candidates
        if head not in candidates and not replaced:
            return "undecided"
        behind = _named(record, parts, _JOINED)
        agrees = (not head or head in behind) and replaced <= _named(record, parts, _FRONT)
        return "agreed" if agrees else "disagreed"


_BEHIND = ("restated", "duplicate", "evolved")
_FRONT: tuple[AnswerVerb, ...] = ("replaces",)
_JOINED: tuple[AnswerVerb, ...] = ("repeats", "adds to")


def _named(record: QuestionRecord, parts: Collection[AnswerPart], verbs: Collection[AnswerVerb]) -> set[str]:
    """The candidates that these verbs name."""
    numbers = {number for part in parts if part.verb in verbs for number in part.numbers}
    return {one.memory_id for one in record.chances if one.number in numbers}
