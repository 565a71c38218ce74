"""The word lists of the rules, one TOML file per language in this folder.

The lists are original work and short on purpose, because a rule must decide only when it is certain. They are read
once, on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from wellkept.core.lexicon.language import Antonymy, EventWords, Grammar, Language, Phrases, Script
from wellkept.core.lexicon.language_files import LanguageFileError, language_codes, language_of_table, raw_table

__all__ = (
    "Antonymy",
    "EventWords",
    "Grammar",
    "Han",
    "Language",
    "LanguageFileError",
    "Lexicon",
    "Phrases",
    "Script",
    "in_all_languages",
    "lexicon",
)

_SHARED = ("number_words", "past_auxiliaries", "past_endings", "persons", "plural_endings", "plurals", "universal")
"""Lists that a language without its own takes from the language with `in_all_texts`."""


@dataclass(frozen=True, slots=True)
class Han:
    """Notation that Chinese and Japanese share.

    Attributes:
        digits, tens: Numerals with their values.
        counters: Words after a numeral.
        year, month, day, hour, minute, half_hour: Characters after a number, each as a string of alternatives.
        lasting: Characters after the hour that make it a duration.
    """

    digits: Mapping[str, int]
    tens: Mapping[str, int]
    counters: tuple[str, ...]
    year: str
    month: str
    day: str
    hour: str
    lasting: str
    minute: str
    half_hour: str


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The word lists of all languages, and lists that are independent of language.

    Attributes:
        languages: Languages by code, in the order in which they are tried.
        everywhere: The languages with `in_all_texts`.
        units: Unit symbol -> dimension and factor to its base unit.
        scale: Multiplying suffixes ("k").
        groups: Word -> the exclusive groups it belongs to.
        comparable: Sets of dimensions whose amounts can be compared; `money`: the dimensions of money.
        operators: Sign -> its canonical equivalent.
        strangers: Function words of languages without a file; `strange_letters`: their letters.
        secret_names, secret_verbs: As in `Language`, for languages without a file.
        han: Notation that Chinese and Japanese share.
    """

    languages: Mapping[str, Language]
    everywhere: tuple[Language, ...]
    units: Mapping[str, tuple[str, Decimal]]
    scale: Mapping[str, Decimal]
    groups: Mapping[str, frozenset[str]]
    comparable: tuple[frozenset[str], ...]
    money: frozenset[str]
    operators: Mapping[str, str]
    strangers: frozenset[str]
    strange_letters: re.Pattern[str]
    secret_names: tuple[str, ...]
    secret_verbs: frozenset[str]
    han: Han

    def of_script(self, *scripts: Script) -> tuple[Language, ...]:
        """The languages written in one of the scripts."""
        return tuple(language for language in self.languages.values() if language.grammar.script in scripts)


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The word lists, read on the first call."""
    common = raw_table("common")
    read = (language_of_table(code, raw_table(code)) for code in language_codes())
    ranked = sorted(read, key=lambda language: language.grammar.rank)
    everywhere = tuple(language for language in ranked if language.grammar.in_all_texts)
    groups: dict[str, set[str]] = {}
    for name, members in common["groups"].items():
        for member in members.split():
            groups.setdefault(member, set()).add(name)
    return Lexicon(
        languages={language.code: _with_shared(language, everywhere) for language in ranked},
        everywhere=everywhere,
        units={symbol: (dimension, Decimal(factor)) for symbol, (dimension, factor) in common["units"].items()},
        scale={symbol: Decimal(factor) for symbol, factor in common["scale"].items()},
        groups={member: frozenset(names) for member, names in groups.items()},
        comparable=tuple(frozenset(names.split()) for names in common["dimensions"]["comparable"]),
        money=frozenset(common["dimensions"]["money"].split()),
        operators=common["operators"],
        strangers=frozenset(word for listed in common["strangers"].values() for word in listed.split()),
        strange_letters=re.compile(common["letters"]["strange"]),
        secret_names=tuple(common["secrets"]["names"]),
        secret_verbs=frozenset(common["secrets"]["verbs"].split()),
        han=_han(common["han"]),
    )


def _han(written: Mapping[str, str]) -> Han:
    digits, tens = ({entry[0]: int(entry[1:]) for entry in written[name].split()} for name in ("digits", "tens"))
    rest = {name: "".join(text.split()) for name, text in written.items() if name not in ("digits", "tens", "counters")}
    return Han(digits, tens, tuple(written["counters"].split()), **rest)


@lru_cache(maxsize=64)
def in_all_languages(name: str) -> frozenset[str]:
    """The words of one list in all languages, for use before or without language detection."""
    return frozenset(word for language in lexicon().languages.values() for word in getattr(language, name))


def _with_shared(language: Language, everywhere: Iterable[Language]) -> Language:
    lent = {name: getattr(owner, name) for owner in everywhere for name in _SHARED if not getattr(language, name)}
    return replace(language, **lent) if lent else language
