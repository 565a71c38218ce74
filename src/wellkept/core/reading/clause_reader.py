"""Reads a text from left to right into clauses: words, cues of negation and condition, values, runs without spaces."""

from __future__ import annotations

import re
from decimal import Decimal

from wellkept.core.lexicon import Language, in_all_languages, lexicon
from wellkept.core.reading import values as v
from wellkept.core.reading.in_words.clock_times import clock, hours_and_minutes
from wellkept.core.reading.language_detection import unspaced_language
from wellkept.core.reading.lexer import han_patterns
from wellkept.core.reading.policy_antonyms import with_opposites
from wellkept.core.reading.stems import stem_as_written
from wellkept.core.reading.tokens import Clause, Token
from wellkept.core.reading.value_reader import ValueReader, begins_value
from wellkept.core.reading.values import Value
from wellkept.policy.antonyms import Opposites

MAX_CLAUSE = 240
"""Most tokens of a clause; longer clauses are divided, so that alignment takes little time for any text."""


def _han_date(found: re.Match[str]) -> Value | None:
    """The date of 二月十日; None for a month or a day that is none."""
    month, day = v.cjk_number(found.group(1)), v.cjk_number(found.group(2) or "")
    return v.date_value(month=month, day=day or None) if month <= 12 and day <= 31 else None


class ClauseReader(ValueReader):
    """Reads one text.

    Args:
        text: The text as `prepared` returns it.
        language: Its language, with the antonyms of the policy.
        opposites: The antonyms of the policy, for runs of another script.
    """

    def __init__(self, text: str, language: Language, opposites: Opposites) -> None:
        super().__init__(text, language)
        self.opposites = opposites

    def read(self) -> tuple[Clause, ...]:
        """The clauses of the text."""
        while self.at < len(self.raw):
            kind, text, end = self.raw[self.at]
            match kind:
                case "end":
                    self._end_clause()
                    self.at += 1
                case "word":
                    self._read_word(text)
                case "number":
                    self._read_number(text, end)
                case "run":
                    self._read_run(text)
                    self.at += 1
                case _:
                    self._read_other(kind or "", text)
                    self.at += 1
            if len(self.tokens) >= MAX_CLAUSE:
                self._end_clause()
        self._end_clause()
        return tuple(self.clauses)

    def _read_word(self, text: str) -> None:
        language, lower = self.language, text.lower()
        if self._take_cue(lower):
            return
        if lower in language.but:
            self._end_clause()
            self.at += 1
            return
        if begins_value(lower, language) and (
            self._take_spoken_clock()
            or self._take_amount(lower)
            or self._take_date_word(text, lower)
            or self._take_numeral(text, lower)
        ):
            return
        self.at += 1
        take = self._with_apostrophe if "'" in lower else self._plain_word
        take(text, lower)

    def _take_cue(self, lower: str) -> bool:
        """Takes a cue of negation or condition, or a phrase that only resembles one ("not only")."""
        language = self.language
        for parts in language.not_negations.get(lower, ()):
            if self._next_words(len(parts)) == parts:
                for part in parts:
                    self._add_token(Token(part, part, part, content=False))
                self.at += len(parts)
                return True
        for parts, group in language.conditions.get(lower, ()):
            if self._next_words(len(parts)) == parts:
                self.conditions.append((group, len(self.content), " ".join(parts)))
                self.at += len(parts)
                return True
        for parts in language.negations.get(lower, ()):
            if self._next_words(len(parts)) == parts:
                self._add_negation(" ".join(parts), len(parts))
                return True
        return False

    def _add_negation(self, cue: str, length: int) -> None:
        following = self.raw[self.at + length : self.at + length + 2]
        numbered = (
            cue in self.language.number_words
            and following
            and following[0][0] == "end"
            and following[-1][0] == "number"
        )
        repeated = cue in self.language.concord and self.negations
        if not numbered and not repeated:  # "No. 5" is a number; "non … mai" is one negation
            self.negations.append((len(self.content), cue))
        self.at += length

    def _with_apostrophe(self, text: str, lower: str) -> None:
        """Adds a contraction: "doesn't" as a negation, "it's" and "l'ora" as two words."""
        if self.language.grammar.clitics_follow:
            if lower.endswith(tuple(self.language.negative_endings)):
                self.negations.append((len(self.content), lower))
                return
            head, _, tail = lower.partition("'")
            self._plain_word(text[: len(head)], head)
            if tail and tail not in self.language.possessive:
                self._add_token(Token(tail, tail, tail, content=False))
            return
        for part in text.split("'"):
            low = part.lower()
            if (low,) in self.language.negations.get(low, ()):
                self.negations.append((len(self.content), low))
            else:
                self._plain_word(part, low)

    def _plain_word(self, text: str, lower: str) -> None:
        language = self.language
        first = not self.tokens
        capital = text[0].isupper() and not self.in_capitals
        lone_letter = capital and len(text) == 1 and not first
        if lower in language.additive:
            self.additive = True
        first_parts = language.split_negations.get(lower)
        if first_parts and any(t.lower in first_parts for t in self.tokens[-4:]):  # "ne … plus"
            self.negations.append((max(0, len(self.content) - 1), f"{max(first_parts, key=len)} … {lower}"))
            return
        function_word = lower in language.function or lower in language.soft
        if function_word and not (lone_letter and lower not in in_all_languages("lone_capitals")):
            self._add_token(Token(text, lower, lower, content=False, first=first))
            return
        inner = any(map(str.isupper, text[1:])) and not self.in_capitals
        proper = (capital and not first) or inner
        self._add_token(Token(text, lower, stem_as_written(text, lower, language), proper=proper, first=first))

    def _read_other(self, kind: str, text: str) -> None:
        """Reads a date, a time, a version, a sign or an identifier."""
        language = self.language
        match kind:
            case "iso" | "day":
                date = v.numeric_date(text, language)
                self._add_value(text, date or v.identifier_value(text))
                hour = re.search(r"[T ](\d{2}):(\d{2})", text)
                time = v.time_value(int(hour.group(1)), int(hour.group(2))) if hour else None
                if hour and time:
                    self._add_value(text[hour.start(1) :], time)
            case "daymonth":
                self._add_value(text, v.date_value(month=int(text[3:]), day=int(text[:2])))
            case "hours" if lasted := hours_and_minutes(text, self._word_before(), language):
                self._add_value(text, lasted)
            case "clock" | "ampm" | "hours" | "cjktime":
                self._add_value(text, clock(text) or v.identifier_value(text))
            case "cjkdate":
                han = lexicon().han
                year, month, day = (re.search(rf"(\d+)[{sign}]", text) for sign in (han.year, han.month, han.day))
                self._add_value(
                    text, v.date_value(*(int(found.group(1)) if found else None for found in (year, month, day)))
                )
            case "fraction":
                whole, _, part = text.rpartition(" ")
                top, bottom = part.split("/")
                amount = Decimal(whole or 0) + Decimal(top) / Decimal(bottom)
                self.at += 1
                self._add_value(text, v.number_value(amount, self._take_unit()))
                self.at -= 1
            case "version":
                self._add_value(text, v.version_value(text))
            case "special":
                self._add_token(Token(text, text.lower(), text.lower(), proper=True, first=not self.tokens))
            case "sign":
                self._add_token(
                    Token(text, text, text, content=text in ("!=", "==", "<=", ">=", "<", ">"), first=False)
                )
            case _:
                self._add_value(text, v.identifier_value(text.rstrip(".,;:!?)\"'")))

    def _read_run(self, run: str) -> None:
        """Reads a run of a script without spaces: words of the lists, and single characters between them."""
        owner = self.language
        if owner.runs is None:
            owner = with_opposites(unspaced_language(run), self.opposites)
        no_cues = {"".join(parts) for entries in owner.not_negations.values() for parts in entries}
        place, (counts, months) = 0, han_patterns()
        while place < len(run):
            counted = counts.match(run, place)
            month = months.match(run, place)
            if month and (date := _han_date(month)):
                self._add_value(month.group(), date)
                place = month.end()
                continue
            if counted and not month:
                number, place = v.cjk_number(counted.group()), counted.end()
                unit = next(
                    (run[place : place + n] for n in (3, 2, 1) if run[place : place + n] in lexicon().units), None
                )
                place += len(unit or "")
                self._add_value(counted.group(), v.number_value(Decimal(number), unit, strong=number > 1 or bool(unit)))
                continue
            found = owner.runs.match(run, place) if owner.runs else None
            word = found.group() if found else run[place]
            place += len(word)
            self._read_run_entry(word, owner, no_cues)

    def _read_run_entry(self, word: str, owner: Language, no_cues: set[str]) -> None:
        plain = Token(word, word, word, char=True, first=not self.tokens)
        if word in owner.conditions:
            self.conditions.append((owner.conditions[word][0][1], len(self.content), word))
        elif word in no_cues:
            self._add_token(plain)
        elif (word,) in owner.negations.get(word, ()):
            self.negations.append((len(self.content), word))
        elif word in owner.weekdays:
            self._add_value(word, v.date_value(weekday=owner.weekdays[word]))
        elif word in owner.relative_days:
            self._add_value(word, v.date_value(relative=owner.relative_days[word]))
        elif word in owner.times:
            self._add_value(word, v.day_time(owner.times[word]))
        elif word in owner.ordinals:
            self._add_value(word, v.ordinal_value(owner.ordinals[word]))
        else:
            self.additive = self.additive or (word in owner.additive and len(word) > 1)
            function_word = word in owner.function or word in owner.soft
            self._add_token(plain._replace(content=not function_word))
