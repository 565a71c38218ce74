"""Reads the events of texts in languages with spaces between words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from wellkept.core.lexicon import Language, Phrases, in_all_languages, lexicon
from wellkept.core.reading.event_types import Course, Limit, Order
from wellkept.core.reading.stems import stems

_WORD = re.compile(r"[^\W_]+(?:[-.:'][^\W_]+)*|,")
_NEAR = 4
"""Number of words in which a verb or a point in time belongs to the word before them."""
_LABEL = 2
"""Most content words of a label beside the word of intention: "Plan for this year: …"."""
_LABEL_ENDS = re.compile(r":(?:\s|$)|\s[-–—]\s")
_LATER = ("before", "until", "latest")
"""Links after which the later event follows."""


@lru_cache(maxsize=1)
def _figure() -> re.Pattern[str]:
    """A year, a clock time, a duration or a day in digits."""
    endings = "|".join(
        (*lexicon().durations, *sorted(in_all_languages("halves_after") | in_all_languages("ordinal_endings")))
    )
    return re.compile(rf"(?:19|20)\d\d|\d{{1,2}}:\d\d|\d+(?:{endings})")


class SpacedReader:
    """Reads texts of one language with spaces between words.

    Attributes:
        of: The words of events in the language.
        silent: Words that name no event.
    """

    def __init__(self, language: Language) -> None:
        self.language, self.of = language, language.events
        self.silent = self.language.function | self.language.soft | self.of.flips | self.of.perfect | self.of.being
        self.silent |= frozenset(self.of.future)

    def read(self, parts: Sequence[str]) -> Course:
        """The events of the sentences of a text."""
        follow = self.language.grammar.clitics_follow
        sentences = [found for part in parts if (found := words_of(part, clitics_follow=follow))]
        every = [word for sentence in sentences for word in sentence if word != ","]
        planned = [self._planned(sentence) for sentence in sentences]
        limits = [limit for sentence in sentences for limit in self._limits(sentence)]
        planned_verbs = frozenset(verb for _, verbs in planned for verb in verbs)
        words = frozenset(every)
        return Course(
            orders=tuple(order for at in range(len(sentences)) for order in self._orders(sentences, at)),
            conditions=tuple(order for sentence in sentences for order in self._conditions(sentence)),
            future=tuple(mark for marks, _ in planned for mark in marks),
            planned=planned_verbs - self.of.planned_states,
            planned_state=bool(planned_verbs & self.of.planned_states),
            due=frozenset(verb for sentence in sentences for _, verb in self._marked(sentence, self.of.due)),
            intended=tuple(sorted(words & self.of.intended)),
            done=next((done for sentence in sentences if (done := self._done(sentence))), ""),
            finished=self._stems(verb for sentence in sentences for verb in self._finished(sentence)),
            running=self._stems(verb for sentence in sentences for verb in self._running(sentence)),
            former=frozenset(verb for sentence in sentences for verb in self._former(sentence)),
            stopped=bool(words & (self.of.stops | self.of.flips)),
            past=frozenset(word for word in every if self._is_past(word)),
            now=frozenset(word for word in every if self._has_form(word, "now")),
            being=bool(words & self.of.being),
            limit=limits[0] if len(limits) == 1 else None,
            words=words,
            keys=self._keys(every),
        )

    def wished(self, statements: Iterable[str]) -> frozenset[str]:
        """The content words beside words of intention: of their clause, and of what a label such as "Plan:" names."""
        follow = self.language.grammar.clitics_follow
        found: frozenset[str] = frozenset()
        for statement in statements:
            clauses = [words_of(clause, clitics_follow=follow) for clause in _LABEL_ENDS.split(statement)]
            for clause, behind in pairwise([*clauses, []]):
                if not self.of.intended.isdisjoint(clause):
                    own = self._keys(word for word in clause if word not in self.of.intended)
                    found |= own | self._keys(behind) if len(own) <= _LABEL else own
        return found

    def _keys(self, words: Iterable[str]) -> frozenset[str]:
        return self._stems(word for word in words if word not in self.silent and word != ",")

    def _stems(self, words: Iterable[str]) -> frozenset[str]:
        return frozenset(stems(words, self.language))

    # -- order

    def _conditions(self, words: Sequence[str]) -> list[Order]:
        """The condition of a sentence and its effect; none if there are several, or no comma separates them."""
        found = [
            (place, place + length, kind)
            for place in range(len(words))
            for kind in ("when", "unless")
            if (length := starts(words, place, getattr(self.of, kind)))
        ]
        if len({place for place, _, _ in found}) != 1:
            return []
        start, end, kind = max(found, key=lambda link: link[1])
        before, behind = words[:start], words[end:]
        comma = next((at for at, word in enumerate(behind) if word == "," and self._keys(behind[:at])), None)
        main = [*before, *(behind[comma:] if comma is not None else [])]
        condition, then = self._keys(behind[:comma]), self._keys(main)
        return [Order(condition, then, " ".join(words[start : end + _NEAR]), (kind,))] if condition and then else []

    def _orders(self, sentences: Sequence[list[str]], at: int) -> list[Order]:
        words = sentences[at]
        links = self._links(words)
        found = []
        for place, (start, end, kind) in enumerate(links):
            stop = links[place + 1][0] if place + 1 < len(links) else len(words)
            if kind == "first_then":
                main = words[:start] if self._keys(words[:start]) else sentences[at - 1] if at else []
                other = words[end:]
            else:
                main, other = self._parts(words, links[0][0], end, stop)
            left, right = self._keys(main), self._keys(other)
            if not left or not right:
                continue
            later = kind in _LATER or kind == "first_then"
            if kind != "first_then" and self._is_turned(main, words):
                if kind not in ("before", "after"):
                    continue  # "muted until Friday" and "cannot chat until Friday" have one order
                later = not later
            link = " ".join(word for word in words[start : end + _NEAR] if word != ",")
            first, second = (left, right) if later else (right, left)
            found.append(Order(first, second, link, tuple(words[start:end])))
        return found

    def _links(self, words: Sequence[str]) -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []
        place = 0
        conditional = any(
            group == "if" and phrase == (word,)
            for word in words
            for phrase, group in self.language.conditions.get(word, ())
            if word not in self.of.after
        )
        while place < len(words):
            length, kind = self._link(words, place)
            if length and not (kind == "first_then" and conditional):
                found.append((place, place + length, kind))
            place += length or 1
        return found

    def _link(self, words: Sequence[str], place: int) -> tuple[int, str]:
        """The longest link at a place: its number of words, and its kind."""
        best, kind = 0, ""
        for name in ("before", "after", "until", "latest", "soonest", "first_then"):
            phrases: Phrases = getattr(self.of, name)
            length = starts(words, place, phrases)
            if length > best and (name not in ("latest", "soonest") or self._is_moment(words, place + length)):
                best, kind = length, name
        return best, kind

    def _is_moment(self, words: Sequence[str], place: int) -> bool:
        language = self.language
        first = words[place : place + 1]
        if first and first[0] in self.silent and first[0] not in language.articles | self.of.noun_follows:
            return False  # "from us in four hours"
        return any(
            _measures_time(word, language)
            or word in language.weekdays
            or word in language.months
            or word in language.relative_days
            or word in language.times
            or word in self.of.moments
            or _figure().fullmatch(word) is not None
            for word in words[place : place + _NEAR]
        )

    def _parts(self, words: Sequence[str], first: int, end: int, stop: int) -> tuple[list[str], list[str]]:
        """The two parts that a link joins: the main part, and the part after it up to a comma or the next link."""
        before, behind = list(words[:first]), list(words[end:stop])
        comma = next((at for at, word in enumerate(behind) if word == "," and self._keys(behind[:at])), None)
        if comma is not None:
            return [*before, *behind[comma:]], behind[:comma]
        if self._keys(before):
            return before, behind
        # "Before merging run the tests": without comma and auxiliary the link governs the first content word.
        at = next((at for at, word in enumerate(behind) if word not in self.silent and not word.isdigit()), len(behind))
        verbs = (self.language.auxiliary | self.of.verb_follows) - self.of.being - self.of.perfect
        cut = next((place for place in range(at + 1, len(behind)) if behind[place] in verbs), at + 1)
        return behind[cut:], behind[:cut]

    def _is_turned(self, main: Sequence[str], words: Sequence[str]) -> bool:
        denials = sum(word in self.of.flips for word in main)
        for before, word in zip(words, words[1:], strict=False):
            denials += word in self.language.negative and before in self.of.being  # "… is forbidden"
        return denials % 2 == 1

    # -- plans and facts

    def _planned(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        shaped = [word for word in words if self._has_form(word, "future") and word not in self.of.not_future]
        marked = self._marked(words, self.of.future)
        return [*shaped, *(mark for mark, _ in marked)], [*shaped, *(verb for _, verb in marked)]

    def _marked(self, words: Sequence[str], phrases: Phrases) -> list[tuple[str, str]]:
        """Each occurrence of a phrase, with a verb that it governs."""
        return [
            (" ".join(words[place : place + length]), verb)
            for place in range(len(words))
            if (length := starts(words, place, phrases))
            for verb in self._verbs_behind(words, place + length)
        ]

    def _verbs_behind(self, words: Sequence[str], place: int) -> list[str]:
        """The verb after a word that marks the future; in some languages the last word of its clause."""
        stop = next((at for at in range(place, len(words)) if words[at] == ","), len(words))
        if self.language.grammar.verbs_last:
            last = words[stop - 1 : stop]
            return [word for word in last if stop > place and self._is_infinitive(word)]
        for word in words[place : min(stop, place + _NEAR)]:
            if word in self.of.be:
                behind = words[words.index(word, place) + 1 :][:1]
                return [word, *(w for w in behind if self._is_participle(w))]
            if word not in self.silent and self._is_infinitive(word):
                return [word]
        return []

    def _is_infinitive(self, word: str) -> bool:
        return "infinitive" not in self.of.shapes or self._has_form(word, "infinitive") or word in self.of.be

    def _is_participle(self, word: str) -> bool:
        return word in self.of.participles or self._has_form(word, "participle")

    def _is_auxiliary(self, word: str) -> bool:
        return (
            word in self.of.being | self.of.be | self.of.perfect | self.of.flips
            or word in self.of.was
            or word in self.of.got
        )

    def _has_form(self, word: str, form: str) -> bool:
        """Whether a word has a form such as `future` or `participle`; False if the language has no pattern for it."""
        pattern = self.of.shapes.get(form)
        return pattern is not None and pattern.fullmatch(word) is not None

    def _is_past(self, word: str) -> bool:
        return word in self.of.past or self._has_form(word, "past")

    def _done(self, words: Sequence[str]) -> str:
        found = next((word for word in words if word in self.of.done), "")
        for place, word in enumerate(words):
            if found:
                break
            near = self._near(words, place)
            if word in self.of.perfect and (part := next(filter(self._is_participle, near), "")):
                found = f"{word} {part}"
            spoken = place and (words[place - 1] in self.of.verb_follows or words[place - 1] not in self.silent)
            if spoken and self._is_past(word):
                found = word
        return found

    def _near(self, words: Sequence[str], place: int) -> Sequence[str]:
        """The words among which an auxiliary has its participle."""
        return words[place + 1 :] if self.language.grammar.verbs_last else words[place + 1 : place + _NEAR]

    def _finished(self, words: Sequence[str]) -> list[str]:
        # "Migraron" opens a sentence; "Hosted …" is a state
        known = words if self.language.grammar.past_is_participle else ["", *words]
        found = [
            word
            for before, word in pairwise(known)
            if before not in self.of.being | self.of.noun_follows and self._is_past(word)  # "the frosted rows"
        ]
        for place, word in enumerate(words):
            if word in self.of.perfect - self.of.being:
                found += filter(self._is_participle, self._near(words, place))
        return found

    def _running(self, words: Sequence[str]) -> list[str]:
        found = [
            word
            for place, word in enumerate(words)
            if self._has_form(word, "progressive") and set(words[max(0, place - 2) : place]) & self.of.being
        ]
        if self.language.grammar.verbs_last:  # its only verb precedes its mark
            marked = any(starts(words, place, self.of.running) for place in range(len(words)))
            return [word for word in words if marked and word not in self.silent]
        return found + [verb for _, verb in self._marked(words, self.of.running)]

    def _former(self, words: Sequence[str]) -> list[str]:
        """Verbs of a former habit; "is used to cut" and "got used to" are none."""
        return [
            verb
            for place in range(1, len(words))
            if (length := starts(words, place, self.of.former)) and not self._is_auxiliary(words[place - 1])
            for verb in self._verbs_behind(words, place + length)
        ]

    # -- limits

    def _limits(self, words: Sequence[str]) -> list[Limit]:
        plain = [word for word in words if word != ","]
        return [self._limit(plain, at) for at, word in enumerate(plain) if word in self.of.only]

    def _limit(self, words: Sequence[str], at: int) -> Limit:
        weighty = [place for place, word in enumerate(words) if word not in self.silent and word not in self.of.only]
        keys = tuple(stems((words[place] for place in weighty), self.language))
        before = sum(place < at for place in weighty)
        nearest = keys[before : before + 1] or keys[before - 1 : before]
        behind = words[at + 1 : at + 3]
        verbs, nouns = self.of.verb_follows, self.of.noun_follows
        opens = not before and not (at and words[at - 1] in verbs)
        noun = not behind or behind[0] in nouns or self._has_form(behind[0], "plural")
        noun = noun or (len(behind) > 1 and behind[1] in verbs and behind[1] not in self.of.noun_ended)
        loose = bool(verbs) and ((at > 0 and words[at - 1] in verbs) or (opens and not noun))
        link = behind[0] if behind and behind[0] in self.language.conditions else ""
        place = (weighty[before : before + 1] or weighty[before - 1 : before] or [at])[0]
        return Limit(words[at], words[place], "".join(nearest), keys, before, link, loose=loose)


def words_of(text: str, *, clitics_follow: bool) -> list[str]:
    """The words and commas of a text in lower case, with contractions divided."""
    return [word for found in _WORD.findall(text) for word in _pieces(found, clitics_follow=clitics_follow)]


def _pieces(word: str, *, clitics_follow: bool) -> list[str]:
    """The parts of a word in lower case: "we", "'ll"; "d", "ici"."""
    lower = word.lower()
    head, mark, tail = lower.partition("'")
    if not mark or lower.endswith(_negative_endings()):
        return [lower]
    return [head, f"'{tail}"] if clitics_follow else [piece for piece in lower.split("'") if piece]


@lru_cache(maxsize=1)
def _negative_endings() -> tuple[str, ...]:
    return tuple(in_all_languages("negative_endings"))


def _measures_time(word: str, language: Language) -> bool:
    unit = language.units.get(word)
    return unit is not None and lexicon().units[unit][0] in ("time", "months")


def starts(words: Sequence[str], place: int, phrases: Phrases) -> int:
    """The number of words of the longest phrase at a place; 0 without one."""
    for phrase in phrases.get(words[place], ()):
        if tuple(words[place : place + len(phrase)]) == phrase:
            return len(phrase)
    return 0
