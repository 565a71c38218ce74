"""What a text says about events: their order, their tense, and what "only" limits."""

from __future__ import annotations

from wellkept.frozen import frozen


@frozen
class Order:
    """The order of two events of a sentence.

    Attributes:
        earlier: The stems of the words of the earlier event.
        later: The stems of the words of the later event.
        link: The words between the events and the first words after them, as evidence ("before merging").
        words: The words of the link alone ("before").
    """

    earlier: frozenset[str]
    later: frozenset[str]
    link: str
    words: tuple[str, ...]

    @property
    def weight(self) -> int:
        """The number of words of both events."""
        return len(self.earlier) + len(self.later)


@frozen
class Limit:
    """The place of the one "only" in a text.

    Attributes:
        word: "Only" as written.
        limited: The word that it limits, as written.
        focus: The stem of that word.
        keys: The stems of its sentence, in order.
        at: The number of those stems before it.
        link: A condition between it and its focus ("only when tests …").
        loose: Whether a verb follows, so that it may limit any word after it.
    """

    word: str
    limited: str
    focus: str
    keys: tuple[str, ...]
    at: int = 0
    link: str = ""
    loose: bool = False


@frozen
class Course:
    """What one text says about events.

    Attributes:
        orders: The orders of two events.
        conditions: Conditions (`earlier`), each with its effect (`later`).
        future: Words that mark the future, as written ("will").
        planned: Verbs in the future, as written.
        planned_state: Whether one of those verbs is a state, such as "be" ("will be open").
        due: Verbs of an obligation, as written ("should deploy").
        intended: Words of intention ("wants").
        wished: The stems of the other content words of their sentences, in scripts with spaces.
        done: A word that shows that something is done; empty without one.
        finished: Stems of the verbs of finished events; none for a mere state ("is hosted").
        running: Stems of the verbs in progress; in scripts without spaces the words that mark it.
        former: Verbs of a former habit ("used to deploy").
        stopped: Whether something is no longer done.
        past, now: Verbs in a form of the past or of the present, where a language distinguishes them.
        being: Whether a present form of "to be" occurs.
        limit: The place of "only", if it occurs once.
        words: All words.
        keys: The stems of the content words.
    """

    orders: tuple[Order, ...] = ()
    conditions: tuple[Order, ...] = ()
    future: tuple[str, ...] = ()
    planned: frozenset[str] = frozenset()
    planned_state: bool = False
    due: frozenset[str] = frozenset()
    intended: tuple[str, ...] = ()
    wished: frozenset[str] = frozenset()
    done: str = ""
    finished: frozenset[str] = frozenset()
    running: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()
    stopped: bool = False
    past: frozenset[str] = frozenset()
    now: frozenset[str] = frozenset()
    being: bool = False
    limit: Limit | None = None
    words: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
