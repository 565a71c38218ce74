"""The small word lists by which rules judge texts, one TOML file per language beside this module.

The lists are our own and short on purpose: a rule speaks only where it is sure. They are read once,
on first use; reading them is the only input the core ever makes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

Antonymy = Literal["act", "state", "weak", "own"]
"""How strongly two words oppose each other: a verb and its reverse, what something is or is not, what only forbids
to call two texts the same, or what a policy names."""
Phrases = Mapping[str, tuple[tuple[str, ...], ...]]

SPACED = ("en", "de", "fr", "es", "pt", "ru")
UNSPACED = ("zh", "ja")
LANGUAGES = SPACED + UNSPACED


@dataclass(frozen=True, slots=True)
class Language:
    """What one language contributes; every set holds lower-case words.

    Attributes:
        markers: Words by which the language is recognised.
        function: Words that carry no content of their own.
        soft: Adverbs whose presence changes nothing ("now", "still").
        light: Verbs so general that adding one adds nothing ("use").
        negations: Cue phrases by their first word, longest first.
        not_negations: Phrases that look like a cue and are none ("not only").
        scopes: Words that turn a denial of all into a denial of some, or of other things ("other", "until").
        conditions: Condition phrases by their first word, with their class.
        choose: Verbs whose object excludes any other ("use", "lives in");
            `direct` of them need no preposition before it ("prefers").
        instruments: Prepositions before what something is done with ("run tests with pytest").
        past: Verbs of a past event; `was` are the past forms of "to be".
        numerals: Number words.
        months: Month names; `unsure_dates` of them are also ordinary words.
        runs: For languages without blanks: every entry, longest first, as one pattern.
    """

    code: str
    markers: frozenset[str]
    function: frozenset[str]
    soft: frozenset[str]
    light: frozenset[str]
    negations: Phrases
    not_negations: Phrases
    negative: frozenset[str]
    scopes: frozenset[str]
    conditions: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
    copula: frozenset[str]
    auxiliary: frozenset[str]
    choose: frozenset[str]
    direct: frozenset[str]
    instruments: frozenset[str]
    past: frozenset[str]
    was: frozenset[str]
    schedule: frozenset[str]
    additive: frozenset[str]
    blockers: frozenset[str]
    articles: frozenset[str]
    ordinals: Mapping[str, int]
    relative_days: Mapping[str, int]
    labels: frozenset[str]
    versions: frozenset[str]
    date_prepositions: frozenset[str]
    clock_prepositions: frozenset[str]
    but: frozenset[str]
    suffixes: tuple[str, ...]
    weekdays: Mapping[str, int]
    months: Mapping[str, int]
    unsure_dates: frozenset[str]
    numerals: Mapping[str, int]
    scale: Mapping[str, Decimal]
    units: Mapping[str, str]
    times: Mapping[str, int]
    antonyms: Mapping[str, tuple[tuple[str, Antonymy], ...]]
    irregular: Mapping[str, str]
    runs: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All languages, and what belongs to none.

    Attributes:
        units: Unit symbol -> dimension and factor to its base unit.
        scale: Multiplying suffixes ("k").
        groups: Word -> the exclusive groups it belongs to.
        fillers: Whole phrases of acknowledgement and greeting in every language.
        strangers: Small words of languages that have no word list.
    """

    languages: Mapping[str, Language]
    units: Mapping[str, tuple[str, Decimal]]
    scale: Mapping[str, Decimal]
    groups: Mapping[str, frozenset[str]]
    fillers: frozenset[str] = field(default_factory=frozenset)
    strangers: frozenset[str] = field(default_factory=frozenset)


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The word lists, read on the first call."""
    common = _read("common")
    raw = {code: _read(code) for code in LANGUAGES}
    groups: dict[str, set[str]] = {}
    for name, members in common["groups"].items():
        for member in members.split():
            groups.setdefault(member, set()).add(name)
    fillers = {" ".join(phrase.split()) for entry in raw.values() for phrase in entry["fillers"].split("|")}
    return Lexicon(
        languages={code: _language(code, entry) for code, entry in raw.items()},
        units={symbol: (dimension, Decimal(factor)) for symbol, (dimension, factor) in common["units"].items()},
        scale={symbol: Decimal(factor) for symbol, factor in common["scale"].items()},
        groups={member: frozenset(names) for member, names in groups.items()},
        fillers=frozenset(fillers - {""}),
        strangers=frozenset(word for listed in common["strangers"].values() for word in listed.split()),
    )


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def _language(code: str, raw: dict[str, Any]) -> Language:
    sets = {key: frozenset(value.split()) for key, value in raw.items() if isinstance(value, str)}
    single_negations = {cue for cue in raw["negations"] if " " not in cue}
    weekdays = {name: day for day, names in enumerate(raw["weekdays"]) for name in names}
    months = {name: month for month, names in enumerate(raw["months"], 1) for name in names}
    return Language(
        code=code,
        markers=sets["function"] | single_negations | sets["light"] | frozenset(weekdays) - sets["ambiguous_months"],
        function=sets["function"],
        soft=sets["soft"],
        light=sets["light"],
        negations=_phrases(raw["negations"]),
        not_negations=_phrases(raw["not_negations"]),
        negative=sets["negative"],
        scopes=sets["scopes"],
        conditions=_conditions(raw["conditions"]),
        copula=sets["copula"],
        auxiliary=sets["auxiliary"],
        choose=sets["choose"],
        direct=sets["direct"],
        instruments=sets["instruments"],
        past=sets["past"],
        was=sets["was"],
        schedule=sets["schedule"],
        additive=sets["additive"],
        blockers=sets["blockers"],
        articles=sets["articles"],
        ordinals={word: number for number, word in enumerate(raw["ordinals"], 1)},
        relative_days={word: offset for offset, word in enumerate(raw["relative_days"], -1)},
        labels=sets["labels"],
        versions=sets["versions"],
        date_prepositions=sets["date_prepositions"],
        clock_prepositions=sets["clock_prepositions"],
        but=sets["but"],
        suffixes=tuple(sorted(raw["suffixes"], key=lambda suffix: (-len(suffix), suffix))),
        weekdays=weekdays,
        months=months,
        unsure_dates=sets["ambiguous_months"],
        numerals=raw["numbers"],
        scale={word: Decimal(factor) for word, factor in raw["scale"].items()},
        units=raw["units"],
        times=raw["times"],
        antonyms=_antonyms(raw["antonyms"]),
        irregular=raw.get("irregular", {}),
        runs=_runs(raw, sets, weekdays, months) if code in UNSPACED else None,
    )


def _phrases(phrases: Iterable[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted(phrases, key=lambda text: (-len(text.split()), text)):
        parts = tuple(phrase.split())
        by_first.setdefault(parts[0], []).append(parts)
    return {first: tuple(entries) for first, entries in by_first.items()}


def _conditions(raw: Mapping[str, list[str]]) -> dict[str, tuple[tuple[tuple[str, ...], str], ...]]:
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for group, phrases in raw.items():
        for phrase in phrases:
            parts = tuple(phrase.split())
            by_first.setdefault(parts[0], []).append((parts, group))
    return {first: tuple(sorted(entries, key=lambda e: (-len(e[0]), e[1]))) for first, entries in by_first.items()}


def _antonyms(raw: Mapping[str, list[str]]) -> dict[str, tuple[tuple[str, Antonymy], ...]]:
    """Word -> its opposites; in a set of three or more the first is opposed to all the others."""
    table: dict[str, dict[str, Antonymy]] = {}
    grades: tuple[Antonymy, ...] = ("weak", "state", "act")
    for grade in grades:
        for entry in raw[grade]:
            head, *others = entry.split()
            for other in others:
                table.setdefault(head, {})[other] = grade
                table.setdefault(other, {})[head] = grade
    return {word: tuple(sorted(opposites.items())) for word, opposites in table.items()}


def _runs(
    raw: dict[str, Any], sets: Mapping[str, frozenset[str]], weekdays: Mapping[str, int], months: Mapping[str, int]
) -> re.Pattern[str]:
    entries: set[str] = set()
    for name in ("function", "soft", "light", "choose", "copula", "additive", "but", "labels", "versions"):
        entries |= sets[name]
    for phrases in (raw["negations"], raw["not_negations"], raw["ordinals"], raw["relative_days"]):
        entries.update(phrases)
    for phrases in (*raw["conditions"].values(),):
        entries.update(phrases)
    for pairs in raw["antonyms"].values():
        entries.update(word for pair in pairs for word in pair.split())
    entries.update(weekdays, months, raw["times"])
    ordered = sorted(entries, key=lambda entry: (-len(entry), entry))
    return re.compile("|".join(map(re.escape, ordered)) + "|.", re.DOTALL)
