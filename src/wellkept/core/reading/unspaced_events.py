"""Reads the events of texts in languages without spaces, by pairs of characters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellkept.core.lexicon import Language, Phrases
from wellkept.core.reading.event_types import Course, Limit, Order

_CLAUSE_SIGN = re.compile("[,，、]")
_RUN = re.compile("[\u3005\u30a1-\u30fa\u30fc\u3400-\u9fff]+|[A-Za-z0-9]+")
_PLAIN_RUN = re.compile("[\u3005\u30a1-\u30fa\u30fc\u3400-\u9fffA-Za-z0-9]{2}")
_NEAR = 4
"""Number of characters before a link in which a point in time belongs to it."""


class UnspacedReader:
    """Reads texts of one language without spaces between words, by pairs of characters."""

    def __init__(self, language: Language) -> None:
        self.language, self.of = language, language.events

    def read(self, parts: Sequence[str]) -> Course:
        """The events of the sentences of a text."""
        text = "".join(parts)
        limits = [limit for part in parts for limit in self._limits(part)]
        past = [_last(part) for part in parts if self._ends(part, "past")]
        now = [_last(part) for part in parts if self._ends(part, "now")]
        return Course(
            orders=tuple(order for at in range(len(parts)) for order in self._orders(parts, at)),
            future=tuple(phrase for phrase in sorted(self.of.future) if phrase in text),
            intended=tuple(sorted(word for word in self.of.intended if word in text)),
            done=next((word for word in sorted(self.of.done) if word in text), past[0] if past else ""),
            running=frozenset(mark for mark in self.of.running if mark in text),
            past=frozenset(past),
            now=frozenset(now),
            limit=limits[0] if len(limits) == 1 else None,
            keys=_pairs(text),
        )

    def _ends(self, part: str, shape: str) -> bool:
        pattern = self.of.shapes.get(shape)
        end = part.strip(" )）」』\"'")[-6:]
        return pattern is not None and any(pattern.fullmatch(end[at:]) for at in range(len(end)))

    def _orders(self, parts: Sequence[str], at: int) -> list[Order]:
        part = parts[at]
        found = self._link(part)
        if found is None:
            return []
        place, phrase, kind = found
        left, right = part[:place], part[place + len(phrase) :]
        if kind == "first_then" and not _pairs(left) and at:
            left = parts[at - 1]
        if kind != "first_then" and not _pairs(right):
            cut = max(
                (sign.end() for sign in _CLAUSE_SIGN.finditer(left)), default=max((0, *map(left.rfind, self.of.places)))
            )
            left, right = left[cut:], left[:cut]
        reference, main = _pairs(left), _pairs(right)
        if not reference or not main:
            return []
        # "X之前Y": the link governs the part before it; only "X, then Y" has the events in their order.
        first = kind in ("after", "first_then")
        if kind != "first_then" and sum(flip in part for flip in self.of.flips) % 2:
            first = not first
        link = f"{left.strip()[-2 * _NEAR :]}{phrase}"
        earlier, second = (reference, main) if first else (main, reference)
        return [Order(earlier, second, link, (phrase,))]

    def _link(self, part: str) -> tuple[int, str, str] | None:
        for names in (("before", "after", "until", "latest"), ("first_then",)):
            spots = [spot for name in names for spot in self._spots(part, name)]
            if spots:
                return min(spots, key=lambda spot: (spot[0], -len(spot[1])))
        return None

    def _spots(self, part: str, name: str) -> list[tuple[int, str, str]]:
        phrases: Phrases = getattr(self.of, name)
        found = []
        for phrase in phrases:
            place = part.find(phrase, 1 if name != "first_then" else 0)
            if place < 0 or any(
                phrase in word != phrase and part.startswith(word, max(0, place - word.index(phrase)))
                for word in self.of.not_links
            ):
                continue
            if name == "latest" and not set(part[max(0, place - _NEAR) : place]) & self.of.moments:
                continue
            found.append((place, phrase, name))
        return found

    def _limits(self, part: str) -> list[Limit]:
        found = []
        rest = re.sub("|".join(self._only), "", part)
        for only in re.finditer("|".join(self._only), part):
            focus = _last(part[: only.start()]) if self.language.grammar.limit_follows else _first(part[only.end() :])
            found.append(Limit(only.group(), focus, focus, tuple(sorted(_pairs(rest)))))
        return found

    @property
    def _only(self) -> list[str]:
        return sorted(self.of.only, key=lambda word: (-len(word), word))


def _pairs(text: str) -> frozenset[str]:
    """Words in Latin letters, numbers, and pairs of adjacent characters."""
    found: set[str] = set()
    for run in _RUN.findall(text):
        if run[0].isascii() or len(run) == 1:
            found.add(run.lower())
        else:
            found.update(run[at : at + 2] for at in range(len(run) - 1))
    return frozenset(found)


def _first(text: str) -> str:
    found = _PLAIN_RUN.search(text)
    return found.group() if found else ""


def _last(text: str) -> str:
    found = _PLAIN_RUN.findall(text[-12:])
    return found[-1] if found else ""
