"""Reads and validates the TOML files of the languages; the type of a field determines the notation of its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, replace
from decimal import Decimal
from typing import Any, TypeVar

from wellkept.core.lexicon.language import Antonymy, EventWords, Grammar, Language, Meanings, Particles
from wellkept.core.lexicon.tables import table_names
from wellkept.patterns import pattern

T = TypeVar("T")
_DERIVED = ("code", "markers", "runs")
_CLASSES = ("exception", "if", "until", "only")
_GRADES: tuple[Antonymy, ...] = ("weak", "state", "act")
_SHAPES = ("future", "infinitive", "participle", "past", "now", "progressive", "plural")
_SCRIPTS = ("latin", "cyrillic", "han", "kana")
_MEANINGS = {
    "modality": "must should can may might",
    "quantity": "all some most many few half",
    "only": "only",
    "bound": "about exactly least most over under",
    "degree": "hardly almost",
    "exception": "unless if",
    "person": "he she",
    "times": "once twice thrice",
    "rhythm": "alternate",
    "clock": "past to half",
    "role": "words",
}
"""The groups of particles, with their possible meanings."""


class LanguageFileError(ValueError):
    """A key of a language file is unknown, missing or has an invalid value."""


def language_codes() -> list[str]:
    """The codes of the languages with a file, in alphabetical order."""
    return [name for name in table_names() if re.fullmatch("[a-z]{2}", name)]


def language_of_table(code: str, raw: Mapping[str, Any]) -> Language:
    """Build a language from its table.

    Raises:
        LanguageFileError: A key is unknown, missing or has an invalid value.
    """
    read = _read(Language, raw, f"{code}.toml")
    single = {cue for cue in raw["negations"] if " " not in cue}
    days = frozenset(read["weekdays"]) - read.get("unsure_dates", frozenset())
    markers = read["function"] | single | read.get("light", frozenset()) | days
    runs = None if read["grammar"].spaced else _runs(raw)
    if runs is not None and "particles" in read:
        read["particles"] = replace(read["particles"], meanings=_by_character(read["particles"].meanings))
    markers |= read.get("more_markers", frozenset())
    markers -= read.get("no_markers", frozenset())
    return Language(code=code, markers=markers, runs=runs, **read)


def _read(kind: type, raw: Mapping[str, Any], place: str) -> dict[str, Any]:
    known = {item.name: item for item in fields(kind) if item.name not in _DERIVED}
    _closed(raw, known, place)
    missing = [name for name, item in known.items() if name not in raw and _is_needed(item)]
    if missing:
        raise LanguageFileError(f"{place}: the key {missing[0]!r} is missing")
    return {name: _value(known[name], raw[name], place) for name in raw}


def _is_needed(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def _closed(raw: Any, known: Iterable[str], place: str) -> None:
    if not isinstance(raw, Mapping):
        raise LanguageFileError(f"{place}: expected a table, found {raw!r}")
    if unknown := [name for name in raw if name not in known]:
        raise LanguageFileError(f"{place}: unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")


def _value(item: Field[Any], written: Any, place: str) -> Any:
    try:
        return _READERS[str(item.type)](written)
    except LanguageFileError as error:
        raise LanguageFileError(f"{place}: {item.name}: {error}") from None
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise LanguageFileError(f"{place}: {item.name}: not what is expected here: {error}") from error


# --------------------------------------------------------------------------------------------
# Parsers, one per type


def _exactly(kind: type[T], name: str) -> Callable[[Any], T]:
    def read(written: Any) -> T:
        if type(written) is not kind:
            raise LanguageFileError(f"expected {name}, found {written!r}")
        return written

    return read


_text, _integer, _flag = _exactly(str, "a text"), _exactly(int, "a whole number"), _exactly(bool, "true or false")


def _texts(written: Any) -> list[str]:
    if not isinstance(written, list):
        raise LanguageFileError(f"expected a list of texts, found {written!r}")
    return [_text(entry) for entry in written]


def _words(written: Any) -> frozenset[str]:
    return frozenset(_text(written).split())


def _sayings(written: Any) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in _text(written).split("|") if phrase.strip())


def _grouped(entries: Iterable[tuple[str, T]]) -> dict[str, tuple[T, ...]]:
    """The entries by their first word or character, in their order."""
    found: dict[str, list[T]] = {}
    for first, entry in entries:
        found.setdefault(first, []).append(entry)
    return {first: tuple(listed) for first, listed in found.items()}


def _by_first(phrases: Iterable[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    ordered = sorted((tuple(phrase.split()) for phrase in phrases), key=lambda parts: (-len(parts), parts))
    return _grouped((parts[0], parts) for parts in ordered)


def _conditions(written: Any) -> dict[str, tuple[tuple[tuple[str, ...], str], ...]]:
    _closed(written, _CLASSES, "conditions")
    listed = [(tuple(phrase.split()), group) for group, phrases in written.items() for phrase in _texts(phrases)]
    return _grouped((entry[0][0], entry) for entry in sorted(listed, key=lambda entry: (-len(entry[0]), entry[1])))


def _antonyms(written: Any) -> dict[str, tuple[tuple[str, Antonymy], ...]]:
    _closed(written, _GRADES, "antonyms")
    table: dict[str, dict[str, Antonymy]] = {}
    for grade in _GRADES:
        for entry in _texts(written.get(grade, [])):
            head, *others = entry.split()
            for other in others:
                table.setdefault(head, {})[other] = grade
                table.setdefault(other, {})[head] = grade
    return {word: tuple(sorted(opposites.items())) for word, opposites in table.items()}


def _numbered(start: int, count: int) -> Callable[[Any], dict[str, int]]:
    def read(written: Any) -> dict[str, int]:
        lists = [_texts(names) for names in written]
        if lists and len(lists) != count:
            raise LanguageFileError(f"expected {count} lists of names, found {len(lists)}")
        return {name: number for number, names in enumerate(lists, start) for name in names}

    return read


def _counted(start: int) -> Callable[[Any], dict[str, int]]:
    return lambda written: {word: number for number, word in enumerate(_texts(written), start)}


def _table(read: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    return lambda written: {key: read(value) for key, value in written.items()}


def _amounts(written: Any) -> dict[str, tuple[tuple[tuple[str, ...], Decimal, str], ...]]:
    found = []
    for phrase, amount in sorted(written.items(), key=lambda entry: (-len(entry[0].split()), entry)):
        parts, (number, _, unit) = tuple(phrase.split()), _text(amount).partition(" ")
        found.append((parts[0], (parts, Decimal(number), unit)))
    return _grouped(found)


def _script(written: Any) -> str:
    if written not in _SCRIPTS:
        raise LanguageFileError(f"expected one of {', '.join(_SCRIPTS)}, found {written!r}")
    return _text(written)


def _shapes(written: Any) -> dict[str, re.Pattern[str]]:
    _closed(written, _SHAPES, "shapes")
    return {shape: pattern(_text(source)) for shape, source in written.items()}


def _rewritings(written: Any) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((pattern(_text(source)), _text(other)) for source, other in written)


def _inflections(written: Any) -> tuple[tuple[re.Pattern[str], str, str], ...]:
    return tuple((pattern(_text(source)), _text(form), _text(ending)) for source, form, ending in written)


def _particles(written: Any) -> Particles:
    _closed(written, _MEANINGS, "particles")
    ordered = sorted(_phrases_of(written), key=lambda entry: (-len(entry[0]), -len(entry[0][0]), entry))
    roles = written.get("role", {}).get("words", "")
    return Particles(_grouped((entry[0][0], entry) for entry in ordered), _sayings(roles))


def _by_character(meanings: Meanings) -> Meanings:
    """Phrases by first character, for scripts without spaces between words."""
    listed = (entry for entries in meanings.values() for entry in entries)
    ordered = sorted(listed, key=lambda entry: (-len(entry[0][0]), entry))
    return _grouped((entry[0][0][0], entry) for entry in ordered)


def _phrases_of(written: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    for group, listed in written.items():
        _closed(listed, _MEANINGS[group].split(), f"particles.{group}")
        for meaning, phrases in listed.items() if group != "role" else ():
            for phrase in _text(phrases).split("|"):
                yield tuple(phrase.split()), group, meaning


_READERS: dict[str, Callable[[Any], Any]] = {
    "bool": _flag,
    "int": _integer,
    "Script": _script,
    "Words": _words,
    "Sayings": _sayings,
    "Cues": lambda written: _by_first(_texts(written)),
    "Phrases": lambda written: _by_first(_sayings(written)),
    "Conditions": _conditions,
    "Endings": lambda written: tuple(sorted(_texts(written), key=lambda ending: (-len(ending), ending))),
    "Ranks": lambda written: {form: rank for rank, forms in enumerate(_texts(written), 1) for form in forms.split()},
    "Around": _counted(-1),
    "Weekdays": _numbered(0, 7),
    "Months": _numbered(1, 12),
    "Counts": _table(_integer),
    "Factors": _table(lambda factor: Decimal(_text(factor))),
    "Amounts": _amounts,
    "Names": _table(_text),
    "Groups": lambda written: tuple(map(_words, _texts(written))),
    "Forms": _table(_words),
    "Shapes": _shapes,
    "Rewritings": _rewritings,
    "Listed": lambda written: tuple(_texts(written)),
    "Sources": lambda written: tuple(_texts(written)),
    "Inflections": _inflections,
    "Antonyms": _antonyms,
    "Grammar": lambda written: Grammar(**_read(Grammar, written, "grammar")),
    "EventWords": lambda written: EventWords(**_read(EventWords, written, "events")),
    "Particles": _particles,
}


_IN_RUNS = ("function", "soft", "light", "choose", "copula", "additive", "but", "labels", "versions")


def _runs(raw: Mapping[str, Any]) -> re.Pattern[str]:
    entries: set[str] = set()
    for name in _IN_RUNS:
        entries.update(raw.get(name, "").split())
    for name in ("negations", "not_negations", "ordinals", "relative_days"):
        entries.update(raw.get(name, ()))
    for phrases in raw["conditions"].values():
        entries.update(phrases)
    for pairs in raw["antonyms"].values():
        entries.update(word for pair in pairs for word in pair.split())
    for names in (*raw["weekdays"], *raw["months"]):
        entries.update(names)
    entries.update(raw.get("times", ()))
    ordered = sorted(entries, key=lambda entry: (-len(entry), entry))
    return pattern("|".join(map(re.escape, ordered)) + "|.", re.DOTALL)
