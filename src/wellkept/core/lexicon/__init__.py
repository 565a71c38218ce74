"""The small word lists of the rules, one TOML file for each language in this folder.

The lists are original work and short on purpose, because a rule must decide only when it is certain. They are read
once, on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

from wellkept.core.lexicon.language import Antonymy, EventWords, Grammar, Language, Phrases, Script
from wellkept.core.lexicon.language_files import LanguageFileError, language_codes, language_of_table
from wellkept.core.lexicon.tables import raw_table
from wellkept.frozen import frozen
from wellkept.patterns import pattern

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
    "strangers",
)

_SHARED = (
    "kept_suffixes",
    "number_words",
    "past_auxiliaries",
    "past_endings",
    "persons",
    "plural_endings",
    "plurals",
    "universal",
)
"""Lists that a language without its own takes from the language whose words occur in all texts."""


@frozen
class Han:
    """Notation that Chinese and Japanese share.

    Attributes:
        digits, tens, myriads: Numerals with their values; those of `myriads` multiply all before them.
        counters: Words after a numeral.
        year, month, day, hour, minute, half_hour: Characters after a number, each as a string of alternatives.
        lasting: Characters after the hour that make it a duration.
    """

    digits: Mapping[str, int]
    tens: Mapping[str, int]
    myriads: Mapping[str, int]
    counters: tuple[str, ...]
    year: str
    month: str
    day: str
    hour: str
    lasting: str
    minute: str
    half_hour: str


@frozen
class Lexicon:
    """The word lists of all languages, and lists that are independent of language.

    Attributes:
        languages: By code, the first that is tried first.
        everywhere: The languages whose words occur in texts of all languages.
        units: Unit symbol -> dimension and factor to its base unit.
        scale: Multiplying suffixes ("k"); `scale_of_money`: with those that only amounts of money have ("m").
        groups: Word -> the exclusive groups it belongs to.
        comparable: Sets of dimensions whose amounts can be compared; `money`, `degrees`: the dimensions of money and
            what a degree may mean.
        operators: Sign -> one sign for all of the same meaning.
        implied: Meanings of small words that a text may leave out.
        durations: Symbols that directly follow the digits of a duration.
        strangers: Small words of languages that have no word list; `strange_letters`: their letters.
        secret_names, secret_verbs: The same as in `Language`, of languages that have no word list.
        han: Notation that Chinese and Japanese share.
    """

    languages: Mapping[str, Language]
    everywhere: tuple[Language, ...]
    units: Mapping[str, tuple[str, Decimal]]
    scale: Mapping[str, Decimal]
    scale_of_money: Mapping[str, Decimal]
    groups: Mapping[str, frozenset[str]]
    comparable: tuple[frozenset[str], ...]
    money: frozenset[str]
    degrees: frozenset[str]
    operators: Mapping[str, str]
    implied: frozenset[str]
    durations: tuple[str, ...]
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
    return Lexicon(
        languages={language.code: _with_shared(language, everywhere) for language in ranked},
        everywhere=everywhere,
        units={symbol: (dimension, Decimal(factor)) for symbol, (dimension, factor) in common["units"].items()},
        scale=_factors(common["scale"]),
        scale_of_money=_factors(common["scale"] | common["scale_of_money"]),
        groups=_groups(common["groups"], ranked),
        comparable=tuple(frozenset(names.split()) for names in common["dimensions"]["comparable"]),
        money=frozenset(common["dimensions"]["money"].split()),
        degrees=frozenset(common["dimensions"]["degrees"].split()),
        operators=common["operators"],
        implied=frozenset(common["meanings"]["implied"].split()),
        durations=tuple(common["durations"]["symbols"].split()),
        strangers=strangers(common["strangers"], ranked),
        strange_letters=pattern(common["letters"]["strange"]),
        secret_names=tuple(common["secrets"]["names"]),
        secret_verbs=frozenset(common["secrets"]["verbs"].split()),
        han=_han(common["han"]),
    )


def _factors(written: Mapping[str, str]) -> dict[str, Decimal]:
    return {symbol: Decimal(factor) for symbol, factor in written.items()}


def _groups(common: Mapping[str, str], languages: Iterable[Language]) -> dict[str, frozenset[str]]:
    """Of each word the groups it belongs to; a group of one language is another one than that of the next."""
    listed = {name: members.split() for name, members in common.items()}
    for language in languages:
        listed |= {f"{language.code}.{name}": sorted(members) for name, members in language.groups.items()}
    groups: dict[str, set[str]] = {}
    for name, members in listed.items():
        for member in members:
            groups.setdefault(member, set()).add(name)
    return {member: frozenset(names) for member, names in groups.items()}


def strangers(listed: Mapping[str, str], languages: Iterable[Language]) -> frozenset[str]:
    """Small words of the languages that have no file."""
    known = {language.code for language in languages}
    return frozenset(word for code, words in listed.items() if code not in known for word in words.split())


def _han(written: Mapping[str, str]) -> Han:
    numerals = ("digits", "tens", "myriads")
    digits, tens, myriads = ({entry[0]: int(entry[1:]) for entry in written[name].split()} for name in numerals)
    rest = {name: "".join(text.split()) for name, text in written.items() if name not in (*numerals, "counters")}
    return Han(digits, tens, myriads, tuple(written["counters"].split()), **rest)


@lru_cache(maxsize=64)
def in_all_languages(name: str) -> frozenset[str]:
    """The words of one list in all languages, for rules that do not depend on the language of the text."""
    return frozenset(word for language in lexicon().languages.values() for word in getattr(language, name))


def _with_shared(language: Language, everywhere: Iterable[Language]) -> Language:
    lent = {name: getattr(owner, name) for owner in everywhere for name in _SHARED if not getattr(language, name)}
    return replace(language, **lent) if lent else language
