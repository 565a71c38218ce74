"""What else the values and words of a text may mean.

"The second leg" is leg 2, "at seven" is 7:00, 05.07 may be 5 July, the U15s are U15, "Sat" may be Saturday. Such a
meaning never makes two texts differ, and none makes them agree by itself: it only explains a value of the other text
that would otherwise stand alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from wellkept.core.lexicon import Language
from wellkept.core.reading import values as v
from wellkept.core.reading.tokens import Token
from wellkept.core.reading.values import Value

_CLOCK = re.compile(r"(\d{1,2})[.](\d{2})|(\d{2})(\d{2})")
_DAY_AND_MONTH = re.compile(r"(\d{1,2})\.(\d{1,2})")
_STROKE = re.compile(r"(\d{1,2})[/-](\d{1,2})")
_PADDED = re.compile(r"\d\d")
_NAMED = re.compile(r"i:([a-z]{1,24})-?(\d{1,6})(s?)")
_PLURAL_FROM = 10
"""Least number that has a plural: "the U12s", not the 4s of a telephone."""
_WITHIN = 4
"""Most tokens between a day and the month that it shares ("5 to 12 July")."""


def with_other_meanings(tokens: Sequence[Token], language: Language) -> tuple[Token, ...]:
    """The values among the tokens of a text, each with what else it may mean."""
    found = []
    for at, token in enumerate(tokens):
        if token.value is not None:
            also = tuple(_meanings(tokens, at, token, token.value, language))
            found.append(token._replace(value=replace(token.value, also=also)) if also else token)
    return tuple(found)


def meant_by_words(tokens: Sequence[Token], language: Language) -> tuple[Value, ...]:
    """The values that words may mean: the short names of weekdays, which are also other words."""
    days = language.weekday_hints
    return tuple(v.date_value(weekday=days[token.lower]) for token in tokens if token.lower in days)


def _meanings(tokens: Sequence[Token], at: int, token: Token, value: Value, language: Language) -> Iterator[Value]:
    match value.kind:
        case "ordinal":
            yield v.number_value(value.amount, None)
            yield from (v.version_value(str(value.amount)), v.identifier_value(f"#{value.amount}"))
            yield from _day(value.amount)
        case "number" if not value.dimension:
            yield from _of_number(tokens, at, token, value, language)
        case "number" if value.dimension == "time":
            yield from _hour(tokens, at, value.written, language)
        case "version":
            yield from _of_points(value.key[2:], language)
        case "identifier":
            yield from _of_identifier(value)
        case _:
            pass


def _of_number(tokens: Sequence[Token], at: int, token: Token, value: Value, language: Language) -> Iterator[Value]:
    if value.amount == value.amount.to_integral_value():
        yield from _hour(tokens, at, value.amount, language)
        yield from _day_of_shared_month(tokens, at, value.amount)
    yield from _of_strokes(token.text)
    for pair in (tokens[at : at + 2], tokens[at - 1 : at + 1] if at else ()):
        yield from _of_strokes("-".join(near.text for near in pair if _PADDED.fullmatch(near.text)))
    yield from _of_points(token.text, language)


def _of_identifier(value: Value) -> Iterator[Value]:
    yield from _of_strokes(value.key[2:])
    if value.key.startswith("i:#") and value.key[3:].isdecimal():
        yield v.number_value(Decimal(value.key[3:]), None)
    if named := _NAMED.fullmatch(value.key):
        letters, digits, plural = named.groups()
        ends = ("", "s") if int(digits) >= _PLURAL_FROM else (plural,)
        yield from (v.identifier_value(f"{letters}{digits}{end}") for end in ends)


def _of_points(text: str, language: Language) -> Iterator[Value]:
    """The time of 18.42 and 0640, the day of 05.07 and, where the day comes first, of 5.7."""
    date = _DAY_AND_MONTH.fullmatch(text)
    if date and (language.grammar.day_first or any(part.startswith("0") for part in date.groups())):
        yield from _dates(int(date.group(1)), int(date.group(2)))
    if found := _CLOCK.fullmatch(text):
        hour, minute = (int(part) for part in found.groups() if part)
        yield from filter(None, (v.time_value(hour, minute),))


def _of_strokes(text: str) -> Iterator[Value]:
    """The dates of 05/07 and 05-07, which may be read both ways."""
    if date := _STROKE.fullmatch(text):
        first, second = map(int, date.groups())
        yield from _dates(first, second)
        yield from _dates(second, first) if first != second else ()


def _hour(tokens: Sequence[Token], at: int, hour: Decimal, language: Language) -> Iterator[Value]:
    """The full hour of "at seven", before and after noon."""
    if at and tokens[at - 1].lower in language.clock_prepositions and hour == hour.to_integral_value() and hour <= 24:
        if 1 <= hour <= 12:
            yield v.spoken_time(int(hour) * 60)
        for half in ("", "p") if hour <= 12 else ("",):
            yield from filter(None, (v.time_value(int(hour), 0, half),))


def _day_of_shared_month(tokens: Sequence[Token], at: int, day: Decimal) -> Iterator[Value]:
    """5 July for the 5 of "5 to 12 July"; a day and its month stand in one value."""
    if not 1 <= day <= 31:
        return
    for token in tokens[at + 1 : at + 1 + _WITHIN]:
        if token.value is not None and token.value.kind == "date" and token.value.parts:
            year, month, last, *_ = token.value.parts
            if month is not None and last is not None:
                yield v.date_value(year, month, int(day))
            return
        if token.content:
            return


def _day(number: Decimal) -> Iterator[Value]:
    if 1 <= number <= 31:
        yield v.date_value(day=int(number))


def _dates(day: int, month: int) -> Iterator[Value]:
    if 1 <= day <= 31 and 1 <= month <= 12:
        yield v.date_value(month=month, day=day)
