"""What a text tells of the course of things: what comes before what, what is planned or done, what "only" limits.

Read once per text; nothing here compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from wellkept.core.lexicon import Language, Phrases, in_all_languages, lexicon
from wellkept.core.reading.lexer import language_of, prepared, stem
from wellkept.core.text.text_cache import MIB, remembered

MOST_READ = 1000
"""Characters up to which a text is read; longer ones are the same only sentence by sentence anyway."""

_SENTENCE_ENDS = re.compile(r"[.!?;:](?:\s|$)|[\n。！？；：…]|\s[-–—]\s")
_WORD = re.compile(r"[^\W_]+(?:[-.:'][^\W_]+)*|,")
_CLAUSE_SIGN = re.compile("[,，、]")
_RUN = re.compile("[\u3005\u30a1-\u30fa\u30fc\u3400-\u9fff]+|[A-Za-z0-9]+")
_PLAIN_RUN = re.compile("[\u3005\u30a1-\u30fa\u30fc\u3400-\u9fffA-Za-z0-9]{2}")
_TIME_UNITS = frozenset(("ms", "s", "min", "h", "d", "wk", "mo", "yr"))
_NEAR = 4
_LATER = ("before", "until", "latest")
"""Links whose second part comes later than their first."""


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
        planned: Verbs that are still to come, as written; `due`: verbs that somebody should do.
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


def courses(a: str, b: str) -> tuple[Course, Course]:
    """What two texts tell of the course of things, each read in its language; texts above `MOST_READ` tell nothing.

    A short text may be of several languages; then the one that suits the other text too is taken.

    Example:
        >>> told, _ = courses("We will run the tests before merging.", "")
        >>> [sorted(order.later) for order in told.orders], told.planned
        ([['merg']], frozenset({'run'}))
    """
    if max(len(a), len(b)) > MOST_READ:
        return Course(), Course()
    ours, theirs = _codes(a), _codes(b)
    common = [code for code in ours if code in theirs]
    return _course(a, (common or ours)[0]), _course(b, (common or theirs)[0])


@remembered(8 * MIB)
def _codes(text: str) -> tuple[str, ...]:
    """The languages that most words of a text belong to, several where it is too short to tell."""
    folded = prepared(text)
    language = language_of(folded)
    if language.grammar.script != "latin":
        return (language.code,)
    hits = dict.fromkeys((other.code for other in lexicon().of_script("latin", "cyrillic")), 0)
    found = _WORD.findall(folded)
    for follow, owners in _owners().items():
        for word in (piece for whole in found for piece in _pieces(whole, clitics_follow=follow)):
            for code in owners.get(word, ()):
                hits[code] += 1
    best = max(hits.values())
    return tuple(code for code, count in hits.items() if count == best)


@lru_cache(maxsize=1)
def _owners() -> dict[bool, dict[str, tuple[str, ...]]]:
    """By where their small words stand at an apostrophe: of each word the languages that know it."""
    owners: dict[bool, dict[str, tuple[str, ...]]] = {True: {}, False: {}}
    for language in lexicon().of_script("latin", "cyrillic"):
        told = owners[language.grammar.clitics_follow]
        for word in language.markers | language.no_markers | language.events.vocabulary:
            told[word] = (*told.get(word, ()), language.code)
    return owners


@remembered(8 * MIB)
def _course(text: str, code: str) -> Course:
    language = lexicon().languages[code]
    reader = _Words(language) if language.grammar.spaced else _Runs(language)
    return reader.read([part for part in _SENTENCE_ENDS.split(prepared(text)) if part and part.strip()])


@lru_cache(maxsize=1)
def _figure() -> re.Pattern[str]:
    """A year, a clock time, a duration or a day in figures."""
    endings = "|".join(("am", "pm", "h", "d", "s", "min", *sorted(in_all_languages("ordinal_endings"))))
    return re.compile(rf"(?:19|20)\d\d|\d{{1,2}}:\d\d|\d+(?:{endings})")


class _Words:
    """Reads languages whose words stand apart."""

    def __init__(self, language: Language) -> None:
        self.language, self.of = language, language.events
        self.silent = self.language.function | self.language.soft | self.of.flips | self.of.perfect | self.of.being
        self.silent |= frozenset(self.of.future)

    def read(self, parts: Sequence[str]) -> Course:
        sentences = [found for part in parts if (found := self._split(part))]
        every = [word for sentence in sentences for word in sentence if word != ","]
        planned = [self._planned(sentence) for sentence in sentences]
        limits = [limit for sentence in sentences for limit in self._limits(sentence)]
        words = frozenset(every)
        return Course(
            orders=tuple(order for at in range(len(sentences)) for order in self._orders(sentences, at)),
            conditions=tuple(order for sentence in sentences for order in self._conditions(sentence)),
            future=tuple(mark for marks, _ in planned for mark in marks),
            planned=frozenset(verb for _, verbs in planned for verb in verbs),
            due=frozenset(verb for sentence in sentences for _, verb in self._marked(sentence, self.of.due)),
            intended=tuple(sorted(words & self.of.intended)),
            done=next((done for sentence in sentences if (done := self._done(sentence))), ""),
            finished=self._stems(verb for sentence in sentences for verb in self._finished(sentence)),
            running=self._stems(verb for sentence in sentences for verb in self._running(sentence)),
            former=frozenset(verb for sentence in sentences for verb in self._former(sentence)),
            stopped=bool(words & (self.of.stops | self.of.flips)),
            past=frozenset(word for word in every if self._is_past(word)),
            now=frozenset(word for word in every if self.of.is_shaped(word, "now")),
            being=bool(words & self.of.being),
            limit=limits[0] if len(limits) == 1 else None,
            words=words,
            keys=self._keys(every),
        )

    def _split(self, part: str) -> list[str]:
        follow = self.language.grammar.clitics_follow
        return [word for found in _WORD.findall(part) for word in _pieces(found, clitics_follow=follow)]

    def _keys(self, words: Iterable[str]) -> frozenset[str]:
        return frozenset(stem(word, self.language) for word in words if word not in self.silent and word != ",")

    def _stems(self, words: Iterable[str]) -> frozenset[str]:
        return frozenset(stem(word, self.language) for word in words)

    # -- order

    def _conditions(self, words: Sequence[str]) -> list[Order]:
        """The one condition of a sentence and what it is for; none where no comma tells them apart."""
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
        if not self._keys(before) and comma is None:
            return []
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
                    continue  # "muted until Friday" and "cannot chat until Friday" are of one order
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
        """The longest link that begins here: how many words it takes, and what it tells."""
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
            language.units.get(word) in _TIME_UNITS
            or word in language.weekdays
            or word in language.months
            or word in language.relative_days
            or word in language.times
            or word in self.of.moments
            or _figure().fullmatch(word) is not None
            for word in words[place : place + _NEAR]
        )

    def _parts(self, words: Sequence[str], first: int, end: int, stop: int) -> tuple[list[str], list[str]]:
        """What the link joins: the main part, and the part behind the link up to a comma or the next link."""
        before, behind = list(words[:first]), list(words[end:stop])
        comma = next((at for at, word in enumerate(behind) if word == "," and self._keys(behind[:at])), None)
        if comma is not None:
            return [*before, *behind[comma:]], behind[:comma]
        if self._keys(before):
            return before, behind
        # "Before merging run the tests": without comma and auxiliary the link names the first word of weight.
        at = next((at for at, word in enumerate(behind) if word not in self.silent and not word.isdigit()), len(behind))
        verbs = (self.language.auxiliary | self.of.verb_follows) - self.of.being - self.of.perfect
        cut = next((place for place in range(at + 1, len(behind)) if behind[place] in verbs), at + 1)
        return behind[cut:], behind[:cut]

    def _is_turned(self, main: Sequence[str], words: Sequence[str]) -> bool:
        denials = sum(word in self.of.flips for word in main)
        for before, word in zip(words, words[1:], strict=False):
            denials += word in self.language.negative and before in self.of.being  # "… is forbidden"
        return denials % 2 == 1

    # -- plans and deeds

    def _planned(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        shaped = [word for word in words if self.of.is_shaped(word, "future") and word not in self.of.not_future]
        marked = self._marked(words, self.of.future)
        return [*shaped, *(mark for mark, _ in marked)], [*shaped, *(verb for _, verb in marked)]

    def _marked(self, words: Sequence[str], phrases: Phrases) -> list[tuple[str, str]]:
        """Each phrase with the verbs that belong to it."""
        return [
            (" ".join(words[place : place + length]), verb)
            for place in range(len(words))
            if (length := starts(words, place, phrases))
            for verb in self._verbs_behind(words, place + length)
        ]

    def _verbs_behind(self, words: Sequence[str], place: int) -> list[str]:
        """The verb that a mark of the future belongs to, be it the last one of its clause."""
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
        return "infinitive" not in self.of.shapes or self.of.is_shaped(word, "infinitive") or word in self.of.be

    def _is_participle(self, word: str) -> bool:
        return word in self.of.participles or self.of.is_shaped(word, "participle")

    def _is_auxiliary(self, word: str) -> bool:
        return (
            word in self.of.being | self.of.be | self.of.perfect | self.of.flips
            or word in self.of.was
            or word in self.of.got
        )

    def _is_past(self, word: str) -> bool:
        return word in self.of.past or self.of.is_shaped(word, "past")

    def _done(self, words: Sequence[str]) -> str:
        told = next((word for word in words if word in self.of.done), "")
        for place, word in enumerate(words):
            if told:
                break
            near = self._near(words, place)
            if word in self.of.perfect and (part := next(filter(self._is_participle, near), "")):
                told = f"{word} {part}"
            spoken = place and (words[place - 1] in self.of.verb_follows or words[place - 1] not in self.silent)
            if spoken and self._is_past(word):
                told = word
        return told

    def _near(self, words: Sequence[str], place: int) -> Sequence[str]:
        """Where the participle of an auxiliary is looked for."""
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
        told = [
            word
            for place, word in enumerate(words)
            if self.of.is_shaped(word, "progressive") and set(words[max(0, place - 2) : place]) & self.of.being
        ]
        if self.language.grammar.verbs_last:  # its only verb stands before its mark
            marked = any(starts(words, place, self.of.running) for place in range(len(words)))
            return [word for word in words if marked and word not in self.silent]
        return told + [verb for _, verb in self._marked(words, self.of.running)]

    def _former(self, words: Sequence[str]) -> list[str]:
        """Verbs of what somebody did once; "is used to cut" and "got used to" tell no such thing."""
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
        keys = tuple(stem(words[place], self.language) for place in weighty)
        before = sum(place < at for place in weighty)
        nearest = keys[before : before + 1] or keys[before - 1 : before]
        behind = words[at + 1 : at + 3]
        verbs, nouns = self.of.verb_follows, self.of.noun_follows
        opens = not before and not (at and words[at - 1] in verbs)
        noun = not behind or behind[0] in nouns or self.of.is_shaped(behind[0], "plural")
        noun = noun or (len(behind) > 1 and behind[1] in verbs and behind[1] not in self.of.noun_ended)
        loose = bool(verbs) and ((at > 0 and words[at - 1] in verbs) or (opens and not noun))
        link = behind[0] if behind and behind[0] in self.language.conditions else ""
        place = (weighty[before : before + 1] or weighty[before - 1 : before] or [at])[0]
        return Limit(words[at], words[place], "".join(nearest), keys, before, link, loose=loose)


class _Runs:
    """Reads languages whose words do not stand apart, by pairs of their characters."""

    def __init__(self, language: Language) -> None:
        self.language, self.of = language, language.events

    def read(self, parts: Sequence[str]) -> Course:
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
        # "X之前Y": the part before the link is what the link names; only "X, then Y" tells it in its order.
        first = kind in ("after", "first_then")
        if kind != "first_then" and sum(flip in part for flip in self.of.flips) % 2:
            first = not first
        told = f"{left.strip()[-2 * _NEAR :]}{phrase}"
        earlier, second = (reference, main) if first else (main, reference)
        return [Order(earlier, second, told, (phrase,))]

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


def _pieces(word: str, *, clitics_follow: bool) -> list[str]:
    """A word in small letters, what is contracted in it apart: "we", "'ll"; "d", "ici"."""
    lower = word.lower()
    head, mark, tail = lower.partition("'")
    if not mark or lower.endswith(_negative_endings()):
        return [lower]
    return [head, f"'{tail}"] if clitics_follow else [piece for piece in lower.split("'") if piece]


@lru_cache(maxsize=1)
def _negative_endings() -> tuple[str, ...]:
    return tuple(in_all_languages("negative_endings"))


def starts(words: Sequence[str], place: int, phrases: Phrases) -> int:
    """How many words the longest phrase takes that begins at a place; 0 for none."""
    for phrase in phrases.get(words[place], ()):
        if tuple(words[place : place + len(phrase)]) == phrase:
            return len(phrase)
    return 0


def _pairs(text: str) -> frozenset[str]:
    """Words in Latin letters, figures, and pairs of neighbouring characters."""
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
