"""A text as rules see it: clauses of tokens, with values, names, negations and conditions marked.

Features are made once per text and cached. Nothing here compares.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from wellkept.core.lexicon import Language, in_all_languages, lexicon
from wellkept.core.reading import values as v
from wellkept.core.reading.clock_times import clock, hours_and_minutes, spoken_clock
from wellkept.core.reading.lexer import (
    han_patterns,
    language_of,
    prepared,
    rank_of,
    stem,
    token_pattern,
    unspaced_language,
)
from wellkept.core.reading.opposites import taught
from wellkept.core.reading.values import Value
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites

MAX_CLAUSE = 240
"""Tokens of a clause; longer ones are cut, so that aligning stays cheap for any text."""


_ACRONYMS = re.compile("[A-Z]{2,5}s")
_TOKEN = 600
"""Bytes of a token with its part of the clauses and sets it stands in."""


class Token(NamedTuple):
    """One word, value or sign.

    Attributes:
        text: As written.
        lower: Without case.
        key: What alignment compares: the stem of a word, the normal form of a value.
        value: The value, if it is one.
        proper: Written as a name (capital inside the sentence).
        content: False for function words, adverbs of time and signs.
        first: Opens its clause, so that its capital says nothing.
    """

    text: str
    lower: str
    key: str
    value: Value | None = None
    proper: bool = False
    content: bool = True
    first: bool = False
    char: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """One statement of a text.

    Attributes:
        tokens: Everything but negation and condition cues.
        content: Places of the content tokens in `tokens`.
        keys: Their keys, in order.
        negations: For each cue the place in `keys` of the content token after it, and its words.
        conditions: (class, place in `keys`) of each condition cue.
        additive: True when it says of itself that it adds ("also").
    """

    tokens: tuple[Token, ...]
    content: tuple[int, ...]
    keys: tuple[str, ...]
    negations: tuple[tuple[int, str], ...]
    conditions: tuple[tuple[str, int, str], ...]
    additive: bool


@dataclass(frozen=True, slots=True)
class Features:
    """What rules know of one text."""

    language: Language
    clauses: tuple[Clause, ...]
    keys: frozenset[str]
    lowers: frozenset[str]
    initials: str
    values: tuple[Token, ...]
    names: tuple[Token, ...]
    text: str = ""


def _size(found: Features) -> int:
    """Bytes of the features of a text, but for its language, which all texts share."""
    return _TOKEN * sum(len(clause.tokens) for clause in found.clauses)


@remembered(64 * MIB, _size)
def features(text: str, opposites: Opposites = NO_OPPOSITES) -> Features:
    """The features of a text; cached, so that a stored text is read once per process.

    Its language knows the opposites that are given beside its own.
    """
    folded = prepared(text)
    language = taught(language_of(folded), opposites)
    reader = _Reader(folded, language, opposites)
    clauses = reader.read()
    tokens = [token for clause in clauses for token in clause.tokens]
    content = [token for token in tokens if token.content]
    names = tuple(token for token in content if token.proper and not token.value)
    words_in_order = [token.lower for token in tokens if not token.char and token.lower[:1].isalpha()]
    return Features(
        language=language,
        clauses=clauses,
        keys=frozenset(token.key for token in content),
        lowers=frozenset(token.lower for token in tokens),
        initials="".join(word[0] for word in words_in_order),
        values=tuple(token for token in tokens if token.value),
        names=names if not language.grammar.nouns_capitalised and not _shouted(content) else (),
        text=text,
    )


def _shouted(content: list[Token]) -> bool:
    """In a heading or a text in capitals, capitals name nothing."""
    plain = [token for token in content if not token.value and not token.char and not token.first]
    return len(plain) > 3 and sum(token.proper for token in plain) > 0.6 * len(plain)


class _Reader:
    """Reads one text from left to right; lives for one call of `features`."""

    def __init__(self, text: str, language: Language, opposites: Opposites) -> None:
        self.text, self.language, self.opposites = text, language, opposites
        self.raw = [(found.lastgroup, found.group(), found.end()) for found in token_pattern().finditer(text)]
        self.at = 0
        self.shouting = text.isupper()
        self.clauses: list[Clause] = []
        self._reset()

    def _reset(self) -> None:
        self.tokens: list[Token] = []
        self.content: list[int] = []
        self.negations: list[tuple[int, str]] = []
        self.conditions: list[tuple[str, int, str]] = []
        self.additive = False

    def read(self) -> tuple[Clause, ...]:
        while self.at < len(self.raw):
            kind, text, end = self.raw[self.at]
            match kind:
                case "end":
                    self._close()
                    self.at += 1
                case "word":
                    self._word(text)
                case "number":
                    self._number(text, end)
                case "run":
                    self._run(text)
                    self.at += 1
                case _:
                    self._other(kind or "", text)
                    self.at += 1
            if len(self.tokens) >= MAX_CLAUSE:
                self._close()
        self._close()
        return tuple(self.clauses)

    def _close(self) -> None:
        if self.tokens or self.negations:
            keys = tuple(self.tokens[place].key for place in self.content)
            marks = tuple(self.negations), tuple(self.conditions), self.additive
            self.clauses.append(Clause(tuple(self.tokens), tuple(self.content), keys, *marks))
        self._reset()

    def _add(self, token: Token) -> None:
        if token.content:
            self.content.append(len(self.tokens))
        self.tokens.append(token)

    def _value(self, text: str, value: Value) -> None:
        last = self.tokens[-1] if self.tokens else None
        if last and last.value and (merged := v.merge_dates(last.value, value) or v.merge_durations(last.value, value)):
            self.tokens[-1] = last._replace(text=f"{last.text} {text}", key=merged.key, value=merged)
            return
        self._add(Token(text, text.lower(), value.key, value, first=not self.tokens))

    # -- words

    def _words_from(self, count: int) -> tuple[str, ...]:
        found: list[str] = []
        for kind, text, _ in self.raw[self.at : self.at + count]:
            if kind != "word":
                break
            found.append(text.lower())
        return tuple(found)

    def _word(self, text: str) -> None:
        language, lower = self.language, text.lower()
        if self._phrase(lower):
            return
        if lower in language.but:
            self._close()
            self.at += 1
            return
        if self._spoken_clock(text, lower) or self._dated_word(text, lower) or self._numeral(text, lower):
            return
        self.at += 1
        take = self._with_apostrophe if "'" in lower else self._plain_word
        take(text, lower)

    def _phrase(self, lower: str) -> bool:
        """Takes a negation or condition cue; a phrase that only looks like one is taken whole."""
        language = self.language
        for parts in language.not_negations.get(lower, ()):
            if self._words_from(len(parts)) == parts:
                for part in parts:
                    self._add(Token(part, part, part, content=False))
                self.at += len(parts)
                return True
        for parts, group in language.conditions.get(lower, ()):
            if self._words_from(len(parts)) == parts:
                self.conditions.append((group, len(self.content), " ".join(parts)))
                self.at += len(parts)
                return True
        for parts in language.negations.get(lower, ()):
            if self._words_from(len(parts)) == parts:
                self._negate(" ".join(parts), len(parts))
                return True
        return False

    def _negate(self, cue: str, length: int) -> None:
        following = self.raw[self.at + length : self.at + length + 2]
        numbered = (
            cue in self.language.number_words
            and following
            and following[0][0] == "end"
            and following[-1][0] == "number"
        )
        repeated = cue in self.language.concord and self.negations
        if not numbered and not repeated:  # "No. 5" counts, it does not deny; "non … mai" denies once
            self.negations.append((len(self.content), cue))
        self.at += length

    def _with_apostrophe(self, text: str, lower: str) -> None:
        if self.language.grammar.clitics_follow:
            if lower.endswith(tuple(self.language.negative_endings)):
                self.negations.append((len(self.content), lower))
                return
            head, _, tail = lower.partition("'")
            self._plain_word(text[: len(head)], head)
            if tail and tail not in self.language.possessive:
                self._add(Token(tail, tail, tail, content=False))
            return
        if lower in self.language.relative_days:
            self._value(text, v.date_value(relative=self.language.relative_days[lower]))
            return
        for part in text.split("'"):
            low = part.lower()
            if (low,) in self.language.negations.get(low, ()):
                self.negations.append((len(self.content), low))
            elif part:
                self._plain_word(part, low)

    def _plain_word(self, text: str, lower: str) -> None:
        language = self.language
        first = not self.tokens
        capital = text[0].isupper() and not self.shouting
        lone_letter = capital and len(text) == 1 and not first
        if lower in language.additive:
            self.additive = True
        opening = language.split_negations.get(lower)
        if opening and any(t.lower in opening for t in self.tokens[-4:]):
            self.negations.append((max(0, len(self.content) - 1), f"{max(opening, key=len)} … {lower}"))
            return
        general = lower in language.function or lower in language.soft
        if general and not (lone_letter and lower != "i"):
            self._add(Token(text, lower, lower, content=False, first=first))
            return
        inner = any(map(str.isupper, text[1:])) and not self.shouting
        proper = (capital and not first) or inner
        base = lower[:-1] if _ACRONYMS.fullmatch(text) else lower
        self._add(Token(text, lower, stem(base, language), proper=proper, first=first))

    # -- dates and numbers in words

    def _dated_word(self, text: str, lower: str) -> bool:
        language = self.language
        unsure = lower in language.unsure_dates and not text[0].isupper() and not self._day_follows()
        value: Value | None = None
        taken = 1
        if lower in language.weekdays and not unsure:
            value = v.date_value(weekday=language.weekdays[lower])
        elif lower in language.relative_days and not (lower == "morgen" and text[0].isupper()):
            value = v.date_value(relative=language.relative_days[lower])
        elif lower in language.times:
            value = v.time_value(*divmod(language.times[lower], 60))
        elif lower in language.months and not (unsure or (lower in language.unsure_dates and not self.tokens)):
            value, taken = self._month(language.months[lower])
        elif rank := rank_of(lower, language):
            value, taken = self._ranked(rank)
        if value is None:
            return False
        self._value(text, value)
        self.at += taken
        return True

    def _day_follows(self) -> bool:
        """In "on may 14 we …" the number is no count of anything ("may 14 users log in?")."""
        following = self.raw[self.at + 1 : self.at + 3]
        if not following or following[0][0] != "number" or not following[0][1].isdecimal() or not self.tokens:
            return False
        counted = len(following) > 1 and following[1][0] == "word" and following[1][1] not in self.language.function
        return 1 <= int(following[0][1]) <= 31 and not counted

    def _before(self) -> str:
        return self.tokens[-1].lower if self.tokens else ""

    def _spoken_clock(self, text: str, lower: str) -> bool:
        words = [word.lower() for _, word, _ in self.raw[self.at + 1 : self.at + 3]]
        found = spoken_clock(lower, words, self._before(), self.language)
        if found is None:
            return False
        value, taken = found
        self.at += 1 + taken
        self._value(" ".join((text, *words[:taken])), value)
        return True

    def _ranked(self, rank: int) -> tuple[Value, int]:
        """The fourteenth of May is a date, the fourteenth row is a rank."""
        words = self._words_from(3)[1:]
        skipped = 1 if words and words[0] in in_all_languages("month_links") else 0
        if rank <= 31 and len(words) > skipped and words[skipped] in self.language.months:
            return v.date_value(month=self.language.months[words[skipped]], day=rank), 2 + skipped
        return v.ordinal_value(rank), 1

    def _month(self, month: int) -> tuple[Value, int]:
        """March 3rd, March 2026, March 3, 2026."""
        day = year = None
        taken, links = 1, in_all_languages("date_links")
        for kind, text, _ in self.raw[self.at + 1 : self.at + 4]:
            digits = re.match(r"\d+", text) if kind == "number" else None
            if digits and len(digits.group()) == 4 and year is None:
                year = int(digits.group())
            elif (
                digits and len(digits.group()) <= 2 and 1 <= int(digits.group()) <= 31 and day is None and year is None
            ):
                day = int(digits.group())
            elif day is None and year is None and kind == "word" and 0 < rank_of(text.lower(), self.language) <= 31:
                day = rank_of(text.lower(), self.language)
            elif not (kind == "word" and text.lower() in links):
                break
            taken += 1
        while taken > 1 and self.raw[self.at + taken - 1][1].lower() in links:
            taken -= 1
        return v.date_value(year, month, day), taken

    def _numeral(self, text: str, lower: str) -> bool:
        language = self.language
        if lower not in language.numerals and not (language.grammar.scale_alone and lower in language.scale):
            return False
        amount = Decimal(language.numerals.get(lower, 1))
        taken = 1 if lower in language.numerals else 0  # "a hundred" is the scale alone
        following = self._words_from(2)[1:]
        if amount >= 20 and following and 0 < language.numerals.get(following[0], 0) < 10:
            amount += language.numerals[following[0]]
            taken = 2
        self.at += taken
        scaled = self._scale()
        unit = self._unit_word()
        if amount == 1 and scaled == 1 and unit is None and lower not in language.counting_one:
            self._add(Token(text, lower, lower, content=False, first=not self.tokens))
            return True
        self._value(text, v.number_value(amount * scaled, unit, strong=amount != 1 or unit is not None))
        return True

    def _scale(self) -> Decimal:
        if self.at < len(self.raw) and self.raw[self.at][0] == "word":
            factor = self.language.scale.get(self.raw[self.at][1].lower())
            if factor is not None:
                self.at += 1
                return factor
        return Decimal(1)

    def _unit_word(self) -> str | None:
        """Takes the unit that follows a number, if one does."""
        if self.at >= len(self.raw) or self.raw[self.at][0] not in ("word", "sign", "run"):
            return None
        kind, word, end = self.raw[self.at]
        if self.text[end - len(word) - 1] == "'":
            return None  # "Python 5's", "the 90's": no seconds
        if kind == "run":
            return self._unit_in_run(word, end)
        if word == "°" and self.at + 1 < len(self.raw) and self.raw[self.at + 1][1] in ("C", "F"):
            word += self.raw[self.at + 1][1]
            self.at += 1
        unit = v.unit_of(word, self.language)
        if unit is not None:
            self.at += 1
        return unit

    def _unit_in_run(self, word: str, end: int) -> str | None:
        for length in (3, 2, 1):
            unit = word[:length] if word[:length] in lexicon().units else None
            if unit:
                self.raw[self.at] = ("run", word[length:], end)
                if not word[length:]:
                    self.at += 1
                return unit
        return None

    # -- digits

    def _number(self, text: str, end: int) -> None:
        language = self.language
        found = re.match(r"([-+]?)([€$£¥₽₹]?)\s?([-+]?)(.+?)(\D*)$", text)
        digits, tail = (found.group(4), found.group(5)) if found else (text, "")
        amount = v.read_number(digits, language)
        self.at += 1
        if found is None or amount is None:
            self._value(text, v.identifier_value(text))
            return
        if found.group(1) == "-" or found.group(3) == "-":
            amount = -amount
        if tail in in_all_languages("ordinal_endings") and "." not in digits:
            if not self._day_and_month(text, digits):
                self._value(text, v.ordinal_value(int(amount)))
            return
        scale = {"k": 1000, "K": 1000, "M": 1000000, "mn": 1000000, "bn": 1000000000}.get(tail)
        if scale:
            amount, tail = amount * scale, ""
        if not tail and not found.group(2) and (self._day_and_month(text, digits) or self._labelled(text, digits, end)):
            return
        start = end - len(text)
        amount *= self._cjk_scale() * (self._scale() if not tail else 1)
        unit = found.group(2) or (v.unit_of(tail, language) if tail and tail != "x" else self._unit_word())
        last = self.raw[self.at - 1]
        written = self.text[start : last[2]] if last[2] - start < 40 and last[0] != "run" else text
        times = tail == "x" or self._takes_times_sign(end)
        self._value(written, v.number_value(amount, unit or None, strong=not (times and amount == 1)))

    def _takes_times_sign(self, end: int) -> bool:
        """The sign right behind a count ("2× A100") says no more than the count."""
        if self.at < len(self.raw) and self.raw[self.at][1:] == ("×", end + 1):
            self.at += 1
            return True
        return False

    def _cjk_scale(self) -> Decimal:
        if self.at < len(self.raw) and self.raw[self.at][0] == "run":
            _, word, end = self.raw[self.at]
            factor = lexicon().scale.get(word[:1])
            if factor is not None:
                self.raw[self.at] = ("run", word[1:], end)
                if not word[1:]:
                    self.at += 1
                return factor
        return Decimal(1)

    def _day_and_month(self, text: str, digits: str) -> bool:
        """3 March, 3. März, 3 de marzo de 2026, the 3rd of March; a year after a date word."""
        if not digits.isdigit() or len(digits) > 4:
            return False
        place = self.at
        if place < len(self.raw) and self.raw[place][:2] == ("end", ".") and len(digits) <= 2:
            place += 1
        if place < len(self.raw) and self.raw[place][1].lower() in in_all_languages("month_links"):
            place += 1
        if place < len(self.raw) and self.raw[place][0] == "word" and len(digits) <= 2 and 1 <= int(digits) <= 31:
            month = self.language.months.get(self.raw[place][1].lower())
            if month is not None:
                self.at = place
                value, taken = self._month(month)
                self.at += taken
                self._value(text, v.date_value(value.parts[0], month, int(digits)))
                return True
        if len(digits) == 4 and 1900 <= int(digits) <= 2100 and self._before() in self.language.date_prepositions:
            self._value(text, v.date_value(int(digits)))
            return True
        return False

    def _labelled(self, text: str, digits: str, end: int) -> bool:
        """A number behind a label names something (step 3, Python 3.12); it measures nothing."""
        if (
            not self.tokens
            or not digits.replace(".", "").isdigit()
            or self.text[end - len(text) - 1 : end - len(text)] != " "
        ):
            return False
        before = self.tokens[-1]
        if before.lower in self.language.versions:
            self._value(text, v.version_value(digits))
            return True
        if before.lower in self.language.labels and digits.isdigit():
            self._value(text, v.identifier_value("#" + digits))
            return True
        grammar = self.language.grammar
        named = before.proper and before.value is None and not grammar.nouns_capitalised
        opening = grammar.versions_open and before.first and before.text[:1].isupper() and "." in digits
        follower = self.raw[self.at] if self.at < len(self.raw) else ("", "", 0)
        unit = v.unit_of(follower[1], self.language) if follower[0] in ("word", "sign") else None
        if (named or opening) and unit is None:
            self._value(text, v.version_value(digits))
            return True
        return False

    # -- everything else

    def _other(self, kind: str, text: str) -> None:
        language = self.language
        match kind:
            case "iso" | "day":
                date = v.numeric_date(text[:10] if kind == "iso" else text, language)
                self._value(text, date or v.identifier_value(text))
                hour = re.search(r"[T ](\d{2}):(\d{2})", text)
                time = v.time_value(int(hour.group(1)), int(hour.group(2))) if hour else None
                if time:
                    self._value(text[11:], time)
            case "daymonth":
                self._value(text, v.date_value(month=int(text[3:]), day=int(text[:2])))
            case "hours" if lasted := hours_and_minutes(text, self._before(), language):
                self._value(text, lasted)
            case "clock" | "ampm" | "hours" | "cjktime":
                self._value(text, clock(text) or v.identifier_value(text))
            case "cjkdate":
                numbers = {unit: int(n) for n, unit in re.findall(r"(\d+)([年月日号號])", text)}
                day = numbers.get("日") or numbers.get("号") or numbers.get("號")
                self._value(text, v.date_value(numbers.get("年"), numbers.get("月"), day))
            case "fraction":
                whole, _, part = text.rpartition(" ")
                top, bottom = part.split("/")
                amount = Decimal(whole or 0) + Decimal(top) / Decimal(bottom)
                self.at += 1
                self._value(text, v.number_value(amount, self._unit_word()))
                self.at -= 1
            case "version":
                self._value(text, v.version_value(text))
            case "special":
                self._add(Token(text, text.lower(), text.lower(), proper=True, first=not self.tokens))
            case "sign":
                self._add(Token(text, text, text, content=text in ("!=", "==", "<=", ">=", "<", ">"), first=False))
            case "mixed" if re.fullmatch(r"(?:[A-Za-z]+-)*[A-Za-z]+", text):
                self._plain_word(text, text.lower())
            case _:
                self._value(text, v.identifier_value(text.rstrip(".,;:!?)\"'")))

    def _run(self, run: str) -> None:
        """A run of a script without blanks: known entries, else single characters."""
        owner = self.language
        if owner.runs is None:
            owner = taught(unspaced_language(run), self.opposites)
        if (runs := owner.runs) is None:
            return
        looks_alike = {"".join(parts) for entries in owner.not_negations.values() for parts in entries}
        place, (counts, months) = 0, han_patterns()
        while place < len(run):
            counted = counts.match(run, place)
            month = months.match(run, place)
            if (counted and (number := v.cjk_number(counted.group())) is not None) and not month:
                place = counted.end()
                unit = next(
                    (run[place : place + n] for n in (3, 2, 1) if run[place : place + n] in lexicon().units), None
                )
                place += len(unit or "")
                self._value(counted.group(), v.number_value(Decimal(number), unit, strong=number > 1 or bool(unit)))
                continue
            found = runs.match(run, place)
            word = found.group() if found else run[place]
            place += len(word)
            self._run_entry(word, owner, looks_alike)

    def _run_entry(self, word: str, owner: Language, looks_alike: set[str]) -> None:
        plain = Token(word, word, word, char=True, first=not self.tokens)
        if word in owner.conditions:
            self.conditions.append((owner.conditions[word][0][1], len(self.content), word))
        elif word in looks_alike:
            self._add(plain)
        elif (word,) in owner.negations.get(word, ()):
            self.negations.append((len(self.content), word))
        elif word in owner.weekdays:
            self._value(word, v.date_value(weekday=owner.weekdays[word]))
        elif word in owner.months:
            self._value(word, v.date_value(month=owner.months[word]))
        elif word in owner.relative_days:
            self._value(word, v.date_value(relative=owner.relative_days[word]))
        elif word in owner.times:
            time = v.time_value(*divmod(owner.times[word], 60))
            if time:
                self._value(word, time)
        elif word in owner.ordinals:
            self._value(word, v.ordinal_value(owner.ordinals[word]))
        else:
            self.additive = self.additive or (word in owner.additive and len(word) > 1)
            general = word in owner.function or word in owner.soft
            self._add(plain._replace(content=not general))
