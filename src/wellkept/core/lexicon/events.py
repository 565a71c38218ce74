"""The words by which texts tell when things happen and what they limit, one table per language in `events.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from typing import Any

Phrases = Mapping[str, tuple[tuple[str, ...], ...]]

_PHRASES = (
    "before",
    "after",
    "until",
    "first_then",
    "latest",
    "soonest",
    "future",
    "due",
    "when",
    "unless",
    "former",
    "running",
    "asking",
)


@dataclass(frozen=True, slots=True)
class EventWords:
    """What one language contributes; `events.toml` says what each list is for.

    Phrases stand under their first word, longest first; shapes are patterns of whole words by their name.
    """

    before: Phrases
    after: Phrases
    until: Phrases
    first_then: Phrases
    latest: Phrases
    soonest: Phrases
    future: Phrases
    due: Phrases
    when: Phrases
    unless: Phrases
    former: Phrases
    running: Phrases
    asking: Phrases
    moments: frozenset[str]
    flips: frozenset[str]
    stops: frozenset[str]
    not_links: frozenset[str]
    not_future: frozenset[str]
    be: frozenset[str]
    being: frozenset[str]
    intended: frozenset[str]
    perfect: frozenset[str]
    participles: frozenset[str]
    done: frozenset[str]
    past: frozenset[str]
    only: frozenset[str]
    verb_follows: frozenset[str]
    noun_follows: frozenset[str]
    greeting: frozenset[str]
    persons: frozenset[str]
    was: Mapping[str, frozenset[str]]
    shapes: Mapping[str, re.Pattern[str]]

    @property
    def vocabulary(self) -> frozenset[str]:
        """Words by which the language is recognised."""
        return (
            self.flips
            | self.being
            | self.perfect
            | self.intended
            | self.done
            | self.only
            | self.verb_follows
            | {word for phrases in (self.before, self.after, self.future) for word in phrases}
        )

    def is_shaped(self, word: str, shape: str) -> bool:
        """Whether a word has the form of a verb of the future, a participle …; False where a language lists none."""
        pattern = self.shapes.get(shape)
        return pattern is not None and pattern.fullmatch(word) is not None


@lru_cache(maxsize=1)
def event_words() -> Mapping[str, EventWords]:
    """The words by language code, read on the first call."""
    raw = tomllib.loads(files(__package__).joinpath("events.toml").read_text(encoding="utf-8"))
    return {
        code: EventWords(**{item.name: _table(item.name, entry.get(item.name)) for item in fields(EventWords)})
        for code, entry in raw.items()
    }


def _table(name: str, listed: Any) -> Any:
    if name == "was":
        return {past: frozenset(present.split()) for past, present in (listed or {}).items()}
    if name == "shapes":
        return {shape: re.compile(pattern) for shape, pattern in (listed or {}).items()}
    if name not in _PHRASES:
        return frozenset((listed or "").split())
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for phrase in (listed or "").split("|"):
        if words := tuple(phrase.split()):
            by_first.setdefault(words[0], []).append(words)
    return {first: tuple(sorted(found, key=lambda words: (-len(words), words))) for first, found in by_first.items()}
