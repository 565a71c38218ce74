"""What a text says about events: their order, their tense, and what "only" limits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """Two events of a sentence, by their words; the link between them, with what it names and by its own words."""

    earlier: frozenset[str]
    later: frozenset[str]
    link: str
    words: tuple[str, ...]

    @property
    def weight(self) -> int:
        """How many words it consists of."""
        return len(self.earlier) + len(self.later)


@dataclass(frozen=True, slots=True)
class Limit:
    """Where the one "only" of a text stands.

    Attributes:
        word: "Only" as written.
        beside: The word it stands at, and `focus`: the same as a key.
        keys: The keys of its sentence, in order; `at`: how many of them stand before it.
        link: A condition between it and its focus ("only when tests …").
        loose: Whether it stands before a verb, and so may limit any word after it.
    """

    word: str
    beside: str
    focus: str
    keys: tuple[str, ...]
    at: int = 0
    link: str = ""
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Course:
    """What one text tells.

    Attributes:
        orders: Which event comes before which.
        conditions: What holds or is done (`later`) under which condition (`earlier`).
        future: The marks of the future, as written.
        planned: Verbs of the future, as written; `planned_state`: one of `planned_states` is a verb of the future too.
        due: Verbs that somebody should do, as written.
        intended: Words of intent.
        done: A word that tells that something is done; empty without one.
        finished: The verbs that are done; none where a text tells only a state ("is hosted").
        running: The verbs of what goes on now; in texts without blanks the marks of it.
        former: The verbs of what somebody did once; `stopped`: something is told to be done no more.
        past, now: Verbs by their form, where a language shows it.
        being: A present form of "to be".
        limit: Where "only" stands, if it stands once.
        words: All its words, and `keys`: their keys.
    """

    orders: tuple[Order, ...] = ()
    conditions: tuple[Order, ...] = ()
    future: tuple[str, ...] = ()
    planned: frozenset[str] = frozenset()
    planned_state: bool = False
    due: frozenset[str] = frozenset()
    intended: tuple[str, ...] = ()
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
