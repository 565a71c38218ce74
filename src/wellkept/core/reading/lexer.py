"""Raw tokens of a text: one pattern with every kind of token, the longest and most specific first.

All repeats in the pattern are bounded or cannot overlap, so that the time is linear for any text.
"""

from __future__ import annotations

import re
from functools import lru_cache

from wellkept.core.lexicon import in_all_languages, lexicon
from wellkept.core.text.forms import UNSPACED, fold

_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0dff\u200c\u200d"
_LETTERS = rf"(?:[^\W\d_{UNSPACED}]++|[{_MARKS}]++)++"
_LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0400-\u04ff"
"""Latin and Cyrillic letters, without × and ÷, which are between them: "2× A100" contains a number."""
_EDGE = rf"(?<![{_LATIN}\d_])"
_WORDY = rf"[^\W{UNSPACED}]"
_DIGIT = re.compile(r"\d")
_MARKUP = re.compile(r"`|\*{2,3}|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)|~~")


@lru_cache(maxsize=1)
def token_pattern() -> re.Pattern[str]:
    """The expression that divides a text into typed tokens."""
    special, plain = kinds_of_tokens()
    # Most places are a space or a plain word, where nothing special begins.
    return re.compile("|".join([rf"(?!\s|[A-Za-z]++[.,]?(?:\s|\Z))(?:{'|'.join(special)})", *plain]))


def kinds_of_tokens() -> tuple[list[str], list[str]]:
    """The patterns of special tokens, such as numbers and paths, and of the others, each the first that fits counts."""
    units = sorted((u for u in lexicon().units if u[0].isascii() and u[0].isalpha()), key=lambda u: (-len(u), u))
    scales = sorted((scale for scale in lexicon().scale if scale.isascii()), key=lambda scale: (-len(scale), scale))
    attached = "|".join(map(re.escape, [*units, *scales, "x", *_longest("ordinal_endings")]))
    halves, hour, clock = ("|".join(map(re.escape, _longest(name))) for name in ("halves", "hour_signs", "clock_signs"))
    optional_points = _half_day(r"\.?", r"\b\.?")
    half = "|".join((_half_day(r"\.", r"\."), _half_day("", r"\b")))
    han = lexicon().han
    number = (
        rf"(?<![{_LATIN}\d_.])[-+]?(?:(?<!\d\s)[€$£¥₽₹]\s?)?"
        r"[-+]?(?:\d{1,3}(?: \d{3})+(?![\d.,])|\d+(?:[.,'_]\d+)*|(?<!\d)\.\d+)"
        rf"(?:[eE][-+]?\d{{1,3}})?(?:(?:{attached})(?![{_LATIN}\d_])|(?![{_LATIN}\d_]))"
    )
    special = [
        rf"(?P<url>[a-z][a-z0-9+]{{1,9}}://[^\s,;<>{UNSPACED}]+)",
        r"(?P<mail>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4})",
        r"(?P<ip>(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?(?![\w.]\w))",
        r"(?P<iso>(?<!\d)\d{4}[-/]\d{1,2}[-/]\d{1,2}(?!\d)(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?)",
        r"(?P<day>(?<![\d.])\d{1,2}([./])\s?\d{1,2}(?:\.\s?|/)\d{4}(?!\d)|(?<![\d/])\d{1,2}/\d{1,2}/\d{2}(?![\d/]))",
        r"(?P<daymonth>(?<![\w.:/-])(?:1[3-9]|2\d|3[01])-(?:0[1-9]|1[0-2])(?![\w:/-]|\.\d))",
        rf"(?P<cjkdate>(?:\d{{2,4}}[{han.year}])?\d{{1,2}}[{han.month}](?:\d{{1,2}}[{han.day}])?)",
        rf"(?P<cjktime>(?:{halves})?\d{{1,2}}[{han.hour}](?![{han.lasting}])"
        rf"(?:\d{{1,2}}[{han.minute}]|[{han.half_hour}])?)",
        rf"(?P<clock>(?<![\d:.])\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?!\d)(?:\s?(?:{optional_points}))?(?:\s?(?:{clock})\b)?)",
        rf"(?P<ampm>(?<![\d:.])\d{{1,2}}(?:[.]\d{{2}})?\s?(?:{half}))",
        rf"(?P<hours>(?<![\d:.])\d{{1,2}}(?:[.:]\d{{2}})?\s?(?:(?:{clock})\b(?:\s\d{{2}}\b)?|(?:{hour})\b)|"
        r"(?<![\d:.])\d{1,2}\s?h\s?\d{2}\b(?!\s?m))",
        r"(?P<fraction>(?<![\w./])(?:\d{1,3} )?[1-9]/[2-9](?![\w/.]))",
        r"(?P<ratio>(?<![\w./])\d+/\d+(?![\w/]))",
        rf"(?P<version>(?<![{_LATIN}\d_.])[vV]\d+(?:\.\d+)*(?:-[A-Za-z0-9]+)*|(?<![{_LATIN}\d_.])\d+(?:\.\d+){{2,}}(?:-?[A-Za-z]\w*)?)",
        rf"(?P<number>{number})",
        r"(?P<flag>(?<!\S)--[A-Za-z][\w-]*(?:=[\w./-]+)?|(?<!\S)-[A-Za-z](?!\w))",
        rf"(?P<handle>[#@]{_WORDY}(?:{_WORDY}|-(?=\w))*)",
        rf"(?P<path>{_EDGE}(?:~|\.{{1,2}})?/[\w.-]{{0,64}}\w(?:/[\w.-]{{0,64}}\w){{0,16}}/?|{_EDGE}\.[A-Za-z]\w+|"
        rf"{_EDGE}[A-Za-z0-9_.-]{{0,64}}\w(?:/[\w.-]{{0,64}}\w){{2,16}}|"
        rf"{_EDGE}\w[A-Za-z0-9_-]{{0,64}}/[A-Za-z0-9_-]{{0,64}}\.\w+)",
        r"(?P<special>\b[A-Za-z]\+\+|(?<![^\W_])[A-Z]{1,2}[+-](?![\w+-])|\b[CFcf]#(?!\w))",
        rf"(?P<dotted>{_EDGE}[A-Za-z_][A-Za-z0-9_-]{{0,64}}(?:\.[A-Za-z0-9_-]{{0,64}}[A-Za-z0-9_]{{2}}){{1,8}}"
        rf"(?![{_LATIN}]))",
        rf"(?P<mixed>{_EDGE}(?:[A-Za-z]{{1,24}}-){{0,4}}[A-Za-z]{{1,24}}-?\d[A-Za-z0-9_]*(?:[-.:][A-Za-z0-9_]+){{0,4}}|"
        rf"{_EDGE}\d{{1,64}}[A-Za-z][A-Za-z0-9_]*|{_EDGE}[A-Za-z0-9]{{0,64}}_[A-Za-z0-9_]+)",
    ]
    plain = [
        rf"(?P<run>(?:(?!(?:{halves})\d)[{UNSPACED}])+)",
        rf"(?P<word>{_LETTERS}(?:'{_LETTERS})*)",
        r"(?P<end>(?:(?!!=)[.!?;\n。！？；…])+|\s[-–—]{1,2}\s|—)",
        r"(?P<digits>\d+)",  # digits are never dropped, whatever surrounds them
        r"(?P<sign>!=|==|<=|>=|[=<>:→&%]|[^\w\s.,'\"()\[\]-])",
    ]
    return special, plain


def _half_day(point: str, end: str) -> str:
    """A pattern of the words for a half of the day (am, pm), in any case.

    Args:
        point: Pattern between their letters.
        end: Pattern after the last letter.
    """
    words = (point.join(map(re.escape, word)) for word in sorted(in_all_languages("halves_after")))
    return "|".join(f"(?i:{word}){end}" for word in words)


def _without_dots(found: re.Match[str]) -> str:
    return found.group().replace(".", "")


@lru_cache(maxsize=1)
def _rewritten() -> tuple[re.Pattern[str], tuple[tuple[re.Pattern[str], str], ...]]:
    """The abbreviations of all languages, and their replacements before a text is read."""
    dotted = "|".join(re.escape(text).replace(r"\ ", r"\s?") for text in _longest("abbreviations"))
    rules = tuple(rule for language in lexicon().languages.values() for rule in language.rewritten)
    return re.compile(rf"\b(?:{dotted})\.(?=\s|,)"), rules


def _longest(name: str) -> list[str]:
    return sorted(in_all_languages(name), key=lambda text: (-len(text), text))


def prepared(text: str) -> str:
    """The text as the lexer reads it: folded, without markup, with abbreviations without points."""
    abbreviated, rules = _rewritten()
    plain = abbreviated.sub(_without_dots, _MARKUP.sub(" ", fold(text)))
    if _DIGIT.search(plain):
        for pattern, other in rules:
            if pattern.search(plain):  # faster than a replacement of nothing
                plain = pattern.sub(other, plain)
    return plain


@lru_cache(maxsize=1)
def han_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns of a count, and of a month with its day, in ideographs."""
    han = lexicon().han
    digits = "".join(digit for digit, number in han.digits.items() if number)
    ten = next(sign for sign, number in han.tens.items() if number == 10)
    count = re.compile(f"[{digits}{''.join(han.tens)}{''.join(han.myriads)}]{{1,12}}(?={'|'.join(han.counters)})")
    small = f"[{digits}{ten}]{{1,3}}"
    return count, re.compile(f"({small})[{han.month}](?:({small})[{han.day}])?")
