"""Reads values from the raw tokens of a text: dates, times and numbers, in words and in digits.

A method named `_take_…` consumes the raw tokens of a value and returns what it found, or whether it found one.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from wellkept.core.lexicon import Language, in_all_languages, lexicon
from wellkept.core.reading import values as v
from wellkept.core.reading.in_words.clock_times import clock_with_tail, spoken_clock
from wellkept.core.reading.in_words.numbers import LONGEST, Spoken, compound_number, number_in_words
from wellkept.core.reading.lexer import token_pattern
from wellkept.core.reading.tokens import Clause, Token
from wellkept.core.reading.values import Value

_HALF = Decimal("0.5")
_ISO = 3
"""Letters of the code of a currency; its name before a number may mean something else ("Euro 2024")."""


class ClauseBuilder:
    """The raw tokens of a text, the position among them, and the clauses so far.

    Attributes:
        raw: Kind, text and end of each raw token.
        at: The position of the next raw token.
        in_capitals: Whether the whole text is in capitals.
    """

    def __init__(self, text: str, language: Language) -> None:
        self.text, self.language = text, language
        self.raw = [(found.lastgroup, found.group(), found.end()) for found in token_pattern().finditer(text)]
        self.at = 0
        self.in_capitals = text.isupper()
        self.clauses: list[Clause] = []
        self._reset()

    def _reset(self) -> None:
        self.tokens: list[Token] = []
        self.content: list[int] = []
        self.negations: list[tuple[int, str]] = []
        self.conditions: list[tuple[str, int, str]] = []
        self.additive = False

    def _end_clause(self) -> None:
        if self.tokens or self.negations:
            keys = tuple(self.tokens[place].key for place in self.content)
            marks = tuple(self.negations), tuple(self.conditions), self.additive
            self.clauses.append(Clause(tuple(self.tokens), tuple(self.content), keys, *marks))
        self._reset()

    def _add_token(self, token: Token) -> None:
        if token.content:
            self.content.append(len(self.tokens))
        self.tokens.append(token)

    def _add_value(self, text: str, value: Value) -> None:
        """Adds a value as a token, or joins it with the value before it ("Thursday, 3 March", "1 h 30 min")."""
        last = self.tokens[-1] if self.tokens else None
        if last and last.value and (merged := v.merge_dates(last.value, value) or v.merge_durations(last.value, value)):
            self.tokens[-1] = last._replace(text=f"{last.text} {text}", key=merged.key, value=merged)
            return
        self._add_token(Token(text, text.lower(), value.key, value, first=not self.tokens))

    def _next_words(self, count: int) -> tuple[str, ...]:
        """At most so many of the next raw tokens, up to one that is no word, in lower case."""
        found: list[str] = []
        for kind, text, _ in self.raw[self.at : self.at + count]:
            if kind != "word":
                break
            found.append(text.lower())
        return tuple(found)

    def _word_before(self) -> str:
        return self.tokens[-1].lower if self.tokens else ""


@lru_cache(maxsize=64)
def _value_words(code: str) -> frozenset[str]:
    """The words of a language with which a date, a time or a number can begin."""
    language = lexicon().languages[code]
    clock = {head.split()[0] for heads in (language.clock_heads, language.clock_heads_at) for head in heads}
    dated = (language.weekdays, language.relative_days, language.times, language.months)
    counted = (language.ordinals, language.ordinals_beyond, language.numerals, language.scale)
    return frozenset(clock.union(*dated, *counted, language.part_numerals, language.amounts))


def begins_value(word: str, language: Language) -> bool:
    """Whether a date, a time or a number can begin with a word."""
    return word in _value_words(language.code) or compound_number(word, language) > 0


class ValueReader(ClauseBuilder):
    """Reads values."""

    # -- words

    def _take_date_word(self, text: str, lower: str) -> bool:
        """Takes a weekday, "today", "noon", a month with its day and year, or an ordinal."""
        language = self.language
        unsure = lower in language.unsure_dates and not text[0].isupper() and not self._day_follows()
        value: Value | None = None
        taken = 1
        if lower in language.weekdays and not unsure:
            value = v.date_value(weekday=language.weekdays[lower])
        elif lower in language.relative_days and not (lower in language.capitalised_nouns and text[0].isupper()):
            value = v.date_value(relative=language.relative_days[lower])
        elif lower in language.times:
            value = v.day_time(language.times[lower])
        elif lower in language.months and not (unsure or (lower in language.unsure_dates and not self.tokens)):
            value, taken = self._month_value(language.months[lower])
        elif rank := self._ordinal(lower):
            value, taken = self._ordinal_value(rank)
        if value is None:
            return False
        self._add_value(text, value)
        self.at += taken
        return True

    def _day_follows(self) -> bool:
        """Whether the next number is a day ("on may 14 we …") and counts nothing ("may 14 users log in?")."""
        following = self.raw[self.at + 1 : self.at + 3]
        if not following or following[0][0] != "number" or not following[0][1].isdecimal() or not self.tokens:
            return False
        counted = len(following) > 1 and following[1][0] == "word" and following[1][1] not in self.language.function
        return 1 <= int(following[0][1]) <= 31 and not counted

    def _take_spoken_clock(self) -> bool:
        return self._take_words(self.at, spoken_clock(self._raw_ahead(), self._word_before(), self.language))

    def _take_clock_tail(self, start: int, hour: Decimal) -> bool:
        """Takes the words behind an hour that tell its minutes, where a preposition precedes the hour."""
        if hour != hour.to_integral_value() or self._word_before() not in self.language.clock_prepositions:
            return False
        return self._take_words(start, clock_with_tail(int(hour), self._raw_ahead(), self.language))

    def _raw_ahead(self) -> list[str]:
        return [word.lower() for _, word, _ in self.raw[self.at : self.at + 5]]

    def _take_words(self, start: int, found: tuple[Value, int] | None) -> bool:
        """Takes a value in so many further words, if one was found; it is written from `start` on."""
        if found is None:
            return False
        value, taken = found
        self.at += taken
        self._add_value(self._written(start), value)
        return True

    def _ordinal(self, word: str) -> int:
        """The number of an ordinal word; 0 for other words."""
        return self.language.ordinals.get(word) or self.language.ordinals_beyond.get(word, 0)

    def _ordinal_value(self, rank: int) -> tuple[Value, int]:
        """A date ("the fourteenth of May") or a rank ("the fourteenth row"), and its number of words."""
        words = self._next_words(3)[1:]
        skipped = 1 if words and words[0] in in_all_languages("month_links") else 0
        if rank <= 31 and len(words) > skipped and words[skipped] in self.language.months:
            return v.date_value(month=self.language.months[words[skipped]], day=rank), 2 + skipped
        return v.ordinal_value(rank), 1

    def _month_value(self, month: int) -> tuple[Value, int]:
        """A month with the day and year after it ("March 3rd", "March 3, 2026"), and its number of raw tokens."""
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
            elif day is None and year is None and kind == "word" and 0 < (rank := self._ordinal(text.lower())) <= 31:
                day = rank
            elif not (kind == "word" and text.lower() in links):
                break
            taken += 1
        while taken > 1 and self.raw[self.at + taken - 1][1].lower() in links:
            taken -= 1
        return v.date_value(year, month, day), taken

    def _take_amount(self, lower: str) -> bool:
        """Takes a phrase for an amount ("half an hour")."""
        entries = self.language.amounts.get(lower, ())
        words = tuple(self._words_ahead(max((len(parts) for parts, *_ in entries), default=0)))
        for parts, number, unit in entries:
            if words[: len(parts)] == parts:
                return self._take_words(self.at, (v.number_value(number, unit or None), len(parts)))
        return False

    def _take_numeral(self, text: str, lower: str) -> bool:
        language, start = self.language, self.at
        amount = language.part_numerals.get(lower)
        spoken = number_in_words(self._words_ahead(LONGEST), language) if amount is None else Spoken(1, 1)
        if spoken is None:
            return False
        if spoken.is_rank:
            self.at += spoken.words - 1
            return self._take_words(start, self._ordinal_value(spoken.amount))
        self.at += spoken.words
        if self._take_clock_tail(start, Decimal(spoken.amount)):
            return True
        last = self.raw[self.at - 1][1].lower()
        amount = (amount or Decimal(spoken.amount)) + self._take_half_more() * language.scale.get(last, 1)
        amount *= self._take_scale()
        unit = self._take_unit()
        if amount == 1 and unit is None and lower not in language.counting_one:
            self._add_token(Token(text, lower, lower, content=False, first=not self.tokens))
            return True
        if unit is not None:
            amount += self._take_half_more()
        self._add_value(self._written(start), v.number_value(amount, unit, strong=amount != 1 or unit is not None))
        return True

    def _words_ahead(self, most: int) -> list[str]:
        """The next words in lower case, as far as only spaces and hyphens divide them."""
        found: list[str] = []
        last = 0
        for kind, word, end in self.raw[self.at : self.at + most]:
            if kind != "word" or (found and self.text[last : end - len(word)].strip("- ")):
                break
            found.append(word.lower())
            last = end
        return found

    def _written(self, start: int) -> str:
        """The raw tokens from there on as written, with one space between them."""
        return " ".join(word for _, word, _ in self.raw[start : self.at])

    def _take_half_more(self) -> Decimal:
        """Takes "and a half" after a number or its unit, and returns what it adds."""
        words = self._words_ahead(3)
        for parts in self.language.half_more.get(words[0] if words else "", ()):
            if tuple(words[: len(parts)]) == parts:
                self.at += len(parts)
                return _HALF
        return Decimal(0)

    def _take_scale(self) -> Decimal:
        if self.at < len(self.raw) and self.raw[self.at][0] == "word":
            factor = self.language.scale.get(self.raw[self.at][1].lower())
            if factor is not None:
                self.at += 1
                return factor
        return Decimal(1)

    def _take_unit(self) -> str | None:
        """Takes the unit after a number."""
        if self.at >= len(self.raw) or self.raw[self.at][0] not in ("word", "sign", "run"):
            return None
        kind, word, end = self.raw[self.at]
        if self.text[end - len(word) - 1] == "'":
            return None  # not the seconds: "Python 5's", "the 90's"
        if kind == "run":
            return self._take_unit_in_run(word, end)
        if self.at + 1 < len(self.raw):
            _, following, follows = self.raw[self.at + 1]
            glue = self.text[end : follows - len(following)]
            unit = v.unit_of(f"{word}{glue}{following}", self.language) if glue in ("", " ") else None
            if unit is not None:  # °C, per cent
                self.at += 2
                return unit
        unit = v.unit_of(word, self.language)
        if unit is not None:
            self.at += 1
        return unit

    def _take_currency_before(self, start: int) -> str | None:
        """Takes back the code of a currency right before a number ("EUR 200")."""
        last = self.tokens[-1] if self.tokens else None
        if (
            last is None
            or not last.content
            or last.value is not None
            or not (last.text.isupper() and len(last.text) == _ISO)
            or self.text[start - len(last.text) - 1 : start] != f"{last.text} "
        ):
            return None
        unit = v.unit_of(last.text, self.language)
        if unit is None or lexicon().units[unit][0] not in lexicon().money:
            return None
        self.tokens.pop()
        self.content.pop()
        return unit

    def _take_unit_in_run(self, word: str, end: int) -> str | None:
        for length in (3, 2, 1):
            unit = word[:length] if word[:length] in lexicon().units else None
            if unit:
                self.raw[self.at] = ("run", word[length:], end)
                return unit
        return None

    # -- digits

    def _read_number(self, text: str, end: int) -> None:
        language = self.language
        found = re.match(r"([-+]?)([€$£¥₽₹]?)\s?([-+]?)(.+?)(\D*)$", text)
        digits, tail = (found.group(4), found.group(5)) if found else (text, "")
        amount = v.read_number(digits, language)
        self.at += 1
        if found is None or amount is None:
            self._add_value(text, v.identifier_value(text))
            return
        if found.group(1) == "-" or found.group(3) == "-":
            amount = -amount
        if tail in in_all_languages("ordinal_endings") and "." not in digits:
            if not self._take_day_and_month(text, digits):
                self._add_value(text, v.ordinal_value(int(amount)))
            return
        currency = found.group(2) or self._take_currency_before(end - len(text))
        scale = (lexicon().scale_of_money if currency else lexicon().scale).get(tail)
        if scale:
            amount, tail = amount * scale, ""
        start = end - len(text)
        if (
            not tail
            and not currency
            and (self._take_day_and_month(text, digits) or self._take_labelled_number(text, digits, end))
        ):
            return
        if not tail and not currency and self._take_clock_tail(self.at - 1, amount):
            return
        amount = self._take_han_scale(amount) * (self._take_scale() if not tail else 1)
        unit = currency or (v.unit_of(tail, language) if tail and tail != "x" else self._take_unit())
        last = self.raw[self.at - 1]
        written = self.text[start : last[2]] if last[2] - start < 40 and last[0] != "run" else text
        times = tail == "x" or self._take_times_sign(end)
        self._add_value(written, v.number_value(amount, unit or None, strong=not (times and amount == 1)))

    def _take_times_sign(self, end: int) -> bool:
        """Takes the sign directly after a count ("2× A100"), which adds no meaning."""
        if self.at < len(self.raw) and self.raw[self.at][1:] == ("×", end + 1):
            self.at += 1
            return True
        return False

    def _take_han_scale(self, amount: Decimal) -> Decimal:
        """The amount multiplied by the ideograph after it, with the smaller number behind that (1万2千)."""
        if self.at == len(self.raw) or self.raw[self.at][0] != "run":
            return amount
        _, word, end = self.raw[self.at]
        factor = lexicon().scale.get(word[:1])
        if factor is None:
            return amount
        self.raw[self.at] = ("run", word[1:], end)
        if word[1:]:
            return amount * factor
        self.at += 1
        kind, text, ends = self.raw[self.at] if self.at < len(self.raw) else ("", "", 0)
        rest = v.read_number(text, self.language) if kind == "number" and ends - len(text) == end else None
        if rest is None or rest >= factor:
            return amount * factor
        self.at += 1
        return amount * factor + self._take_han_scale(rest)

    def _take_day_and_month(self, text: str, digits: str) -> bool:
        """Takes a day with its month ("3. März", "3 de marzo de 2026", "the 3rd of March"), or a year ("in 2026")."""
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
                value, taken = self._month_value(month)
                self.at += taken
                self._add_value(text, v.date_value(value.parts[0], month, int(digits)))
                return True
        if len(digits) == 4 and 1900 <= int(digits) <= 2100 and self._word_before() in self.language.date_prepositions:
            self._add_value(text, v.date_value(int(digits)))
            return True
        return False

    def _take_labelled_number(self, text: str, digits: str, end: int) -> bool:
        """Takes a number after a label or a name ("step 3", "Python 3.12"): an identifier or a version, no amount."""
        if (
            not self.tokens
            or not digits.replace(".", "").isdigit()
            or self.text[end - len(text) - 1 : end - len(text)] != " "
            or self.text[end - len(text) - 2] == ","
        ):
            return False
        before = self.tokens[-1]
        if before.lower in self.language.versions:
            self._add_value(text, v.version_value(digits))
            return True
        if before.lower in self.language.labels and digits.isdigit():
            self._add_value(text, v.identifier_value("#" + digits))
            return True
        grammar = self.language.grammar
        named = before.proper and before.value is None and not grammar.nouns_capitalised
        opening = grammar.versions_open and before.first and before.text[:1].isupper() and "." in digits
        follower = self.raw[self.at] if self.at < len(self.raw) else ("", "", 0)
        unit = v.unit_of(follower[1], self.language) if follower[0] in ("word", "sign") else None
        if (named or opening) and unit is None:
            self._add_value(text, v.version_value(digits))
            return True
        return False
