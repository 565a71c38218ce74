"""Normal forms of numbers, units, dates and clock times, so that different spellings are equal.

"two weeks" is 14 days, €500 is "500 euros", 5pm is 17:00, 1e-3 is 0.001, 3 March is March 3rd. A value
that cannot be read with certainty stays as written.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal

from wellkept.core.lexicon import Language, in_all_languages, lexicon
from wellkept.frozen import frozen

ValueKind = Literal["number", "ordinal", "version", "identifier", "date", "time"]
ZERO = Decimal(0)
_GROUPED_BOTH = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:\.\d{3})+,\d+")
_GROUPED_ONE = re.compile(r"\d{1,3}(?:([.,])\d{3})+")
_MAX_DIGITS = 40


@frozen
class Value:
    """One value of a text.

    Attributes:
        kind: The sort of value.
        key: The normal form; equal keys are the same value.
        amount: Of a number: the amount in the base unit of its dimension.
        dimension: Of a number: "time", "data", "EUR" …; empty for a bare number.
        written: Of a number: the amount as written, before its unit.
        parts: Of a date: year, month, day, weekday (0 is Monday), relative day (0 is today); None for an open part.
        strong: False for values that a paraphrase may add or leave out ("first", "one").
        also: What else it may mean (`in_words.other_meanings`).
    """

    kind: ValueKind
    key: str
    amount: Decimal = ZERO
    dimension: str = ""
    written: Decimal = ZERO
    parts: tuple[int | None, ...] = ()
    strong: bool = True
    also: tuple[Value, ...] = ()


def read_number(text: str, language: Language) -> Decimal | None:
    """The number that digits and separators stand for; None if they are no number.

    Whether a comma is the decimal sign depends on the language of the text. If comma and point both occur, the last one
    is the decimal sign in any language.
    """
    plain = text.replace("_", "").replace("'", "").replace(" ", "").lstrip("+")
    if len(plain) > _MAX_DIGITS:
        return None
    comma_decimal = language.grammar.decimal_comma
    grouped = _GROUPED_ONE.fullmatch(plain.lstrip("-"))
    if _GROUPED_BOTH.fullmatch(plain.lstrip("-")):
        decimal_sign = max(".,", key=plain.rfind)
        plain = plain.replace("," if decimal_sign == "." else ".", "").replace(",", ".")
    elif grouped and (plain.count(grouped.group(1)) > 1 or (grouped.group(1) == ",") != comma_decimal):
        plain = plain.replace(grouped.group(1), "")
    else:
        plain = plain.replace(",", ".")
    try:
        number = Decimal(plain)
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) < _MAX_DIGITS else None


def plain_number(number: Decimal) -> str:
    """The shortest notation of a number without exponent."""
    return format(number.normalize() + 0, "f") if number else "0"


def unit_of(word: str, language: Language) -> str | None:
    """The unit symbol of a word or sign; None for others."""
    units = lexicon().units
    if word in units:
        return word
    by_word = language.units.get(word) or language.units.get(word.lower())
    return by_word or next((unit for other in lexicon().everywhere if (unit := other.units.get(word.lower()))), None)


def number_value(amount: Decimal, unit: str | None, *, strong: bool = True) -> Value:
    """A quantity in the base unit of its dimension."""
    dimension, factor = lexicon().units[unit] if unit else ("", Decimal(1))
    base = amount * factor
    key = f"n:{dimension}:{plain_number(base)}"
    return Value("number", key, amount=base, dimension=dimension, written=amount, strong=strong)


def ordinal_value(number: int) -> Value:
    """A rank: first, 2nd."""
    return Value("ordinal", f"o:{number}", amount=Decimal(number), written=Decimal(number), strong=False)


def version_value(text: str) -> Value:
    """A version; the leading v is no part of it."""
    return Value("version", "v:" + text.lower().lstrip("v"))


def identifier_value(text: str) -> Value:
    """An identifier, in any case of letters: #441, settings.toml, --force."""
    text = "~" + text[4:] if text.startswith("HOME/") else text
    one_letter_flag = len(text) == 2 and text[0] == "-"  # -c and -C are two flags
    return Value("identifier", "i:" + (text if one_letter_flag else text.lower().rstrip("/")))


def date_value(
    year: int | None = None,
    month: int | None = None,
    day: int | None = None,
    weekday: int | None = None,
    relative: int | None = None,
) -> Value:
    """A calendar date; None for parts that the text leaves open."""
    if year is not None and year < 100:
        year += 2000
    parts = (year, month, day, weekday, relative)
    return Value(
        "date", "d:" + "-".join("" if p is None else str(p) for p in parts), parts=parts, strong=relative is None
    )


def time_value(hour: int, minute: int = 0, half: str = "") -> Value | None:
    """A clock time; `half` is "a" or "p" for the twelve-hour clock."""
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 24 or minute > 59:
        return None
    return day_time(hour * 60 + minute)


def day_time(minute: int) -> Value:
    """The clock time of a minute of the day."""
    return Value("time", f"t:{minute % (2 * _HALF_DAY)}")


_HALF_DAY = 720


def spoken_time(minute: int) -> Value:
    """A clock time, in minutes, that leaves open whether it is before or after noon; it is equal to both."""
    minute %= _HALF_DAY
    return Value("time", f"t:{minute}|{minute + _HALF_DAY}", parts=(minute, minute + _HALF_DAY))


def numeric_date(text: str, language: Language) -> Value | None:
    """The date of 2026-03-04, 4.3.2026 or 3/14/2026; an ambiguous date with slashes stays as written."""
    first, second, third = (int(field) for field in re.findall(r"\d+", text)[:3])
    if first > 31:
        return date_value(first, second, third) if second <= 12 and third <= 31 else None
    if "/" in text and first <= 12 and second <= 12 and first != second and not language.grammar.day_first:
        return Value("date", "d:" + text, parts=(third, None, None, None, None))
    day, month = (second, first) if second > 12 else (first, second)
    return date_value(third, month, day) if month <= 12 and day <= 31 else None


def same_value(a: Value, b: Value) -> bool:
    """Whether two values are equal, or are dates that differ only in what one of them leaves open."""
    if a.key == b.key:
        return True
    if a.kind == b.kind == "number":
        if a.written == b.written and lexicon().units["°"][0] in (a.dimension, b.dimension):
            return {a.dimension, b.dimension} <= lexicon().degrees  # 195 ° of an oven
        return a.amount == b.amount and (
            {a.dimension, b.dimension} == {"", "share"}  # 0.82 is 82 %
            or ("" in (a.dimension, b.dimension) and bool({a.dimension, b.dimension} & lexicon().money))
        )
    if {a.kind, b.kind} == {"time", "number"}:
        return bool(a.dimension) and a.dimension == b.dimension and a.amount == b.amount  # "at 1h30": which of both?
    if a.kind == b.kind == "time":
        return bool(a.key.split(":")[-1] in b.key[2:].split("|") or b.key.split(":")[-1] in a.key[2:].split("|"))
    if a.kind == b.kind == "identifier":
        return bare_identifier(a.key) == bare_identifier(b.key)
    if a.kind != "date" or b.kind != "date":
        return {a.kind, b.kind} == {"number", "version"} and _as_version(a) == _as_version(b)
    shared = [(x, y) for x, y in zip(a.parts, b.parts, strict=False) if x is not None and y is not None]
    return bool(shared) and all(x == y for x, y in shared) and "/" not in a.key + b.key


_LETTERS_DIGITS = re.compile(r"i:[a-z]+-?\d+[a-z]{0,3}")


def bare_identifier(key: str) -> str:
    """The key of an identifier without a description or hyphen: `argon2id-hashed` is argon2id, sha-256 is sha256."""
    key = _described().sub("", key) if any(map(str.isdigit, key)) else key
    return key.replace("-", "") if _LETTERS_DIGITS.fullmatch(key) else key


@lru_cache(maxsize=1)
def _described() -> re.Pattern[str]:
    """The end of an identifier that only describes it."""
    return re.compile(f"-(?:{'|'.join(sorted(in_all_languages('describing_endings')))})$")


def _as_version(value: Value) -> str:
    if value.kind == "version":
        return value.key[2:].removesuffix(".0")
    return plain_number(value.written) + ("?" if value.dimension else "")


def merge_dates(a: Value, b: Value) -> Value | None:
    """One date of two adjacent dates that complete each other ("Thursday, 3 March"); None for others."""
    if a.kind != "date" or b.kind != "date" or not a.parts or not b.parts:
        return None
    if any(x is not None and y is not None for x, y in zip(a.parts, b.parts, strict=True)):
        return None
    return date_value(*(x if x is not None else y for x, y in zip(a.parts, b.parts, strict=True)))


def merge_durations(a: Value, b: Value) -> Value | None:
    """One duration of two adjacent durations ("1 h 30 min"); None for others."""
    if a.kind != "number" or b.kind != "number" or a.dimension != "time" or b.dimension != "time":
        return None
    if not 0 < b.amount < a.amount or not a.strong or not b.strong:
        return None
    if a.amount < 60 or b.amount >= 3600 * 24:
        return None
    return number_value(a.amount + b.amount, "s")


def cjk_number(text: str) -> int:
    """A Chinese or Japanese numeral, of its digits, tens and myriads."""
    total, group, current, han = 0, 0, 0, lexicon().han
    for char in text:
        if char in han.digits:
            current = han.digits[char]
        elif char in han.tens:
            group += (current or 1) * han.tens[char]
            current = 0
        else:
            total += (group + current or 1) * han.myriads[char]
            group = current = 0
    return total + group + current
