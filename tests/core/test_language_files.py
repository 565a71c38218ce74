"""The files of the languages: closed keys, each held to its type, and every language with the words rules need."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wellkept.core.differences.find import differences
from wellkept.core.lexicon import LanguageFileError, lexicon, strangers
from wellkept.core.lexicon.language_files import language_codes, language_of_table
from wellkept.core.lexicon.tables import raw_table

SMALLEST: dict[str, Any] = {
    "function": "the a",
    "negations": ["not", "no longer"],
    "conditions": {"if": ["if"]},
    "weekdays": [],
    "months": [],
    "relative_days": ["yesterday", "today"],
    "antonyms": {"state": ["open closed"]},
    "fillers": "thank you|ok",
    "grammar": {"rank": 9, "script": "latin"},
    "events": {"before": "before", "after": "after", "until": "until", "future": "will", "only": "only"},
}


def test_a_table_is_what_its_file_says_now(tmp_path: Path) -> None:
    """The compiled table of an older file is not used."""
    for text in ('word = "tea"', 'word = "tea"', 'word = "coffee"\nsigns = ["\\"", "é", "茶"]'):
        (tmp_path / "xx.toml").write_text(text, encoding="utf-8")
        assert raw_table("xx", tmp_path) == tomllib.loads(text)


def test_a_file_of_the_needed_keys_makes_a_language() -> None:
    made = language_of_table("xx", SMALLEST)
    assert made.markers == {"the", "a", "not"} and made.relative_days == {"yesterday": -1, "today": 0}
    assert made.negations == {"not": (("not",),), "no": (("no", "longer"),)}
    assert made.antonyms == {"open": (("closed", "state"),), "closed": (("open", "state"),)}
    assert made.runs is None and not made.grammar.cases and made.particles.meanings == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"negation": []}, "xx.toml: unknown key 'negation'; known are "),
        ({"code": "xx"}, "xx.toml: unknown key 'code'"),
        ({"grammar": {"rank": 9, "script": "latin", "case": True}}, "grammar: unknown key 'case'"),
        ({"grammar": "latin"}, "grammar: expected a table, found 'latin'"),
        ({"grammar": {"rank": 9}}, "grammar: the key 'script' is missing"),
        ({"grammar": {"rank": 9, "script": "greek"}}, "expected one of latin, cyrillic, han, kana, found 'greek'"),
        ({"grammar": {"rank": True, "script": "latin"}}, "expected a whole number, found True"),
        ({"grammar": {"rank": 9, "script": "latin", "cases": 1}}, "cases: expected true or false, found 1"),
        ({"events": {**SMALLEST["events"], "befor": "x"}}, "events: unknown key 'befor'"),
        ({"events": {**SMALLEST["events"], "shapes": {"pasts": "x"}}}, "shapes: unknown key 'pasts'"),
        ({"events": {**SMALLEST["events"], "shapes": {"past": 1}}}, "shapes: expected a text, found 1"),
        ({"particles": {"mood": {"must": "must"}}}, "particles: unknown key 'mood'"),
        ({"particles": {"modality": {"ought": "ought"}}}, "particles.modality: unknown key 'ought'"),
        ({"conditions": {"when": ["when"]}}, "conditions: unknown key 'when'; known are exception, if, only, until"),
        ({"antonyms": {"strong": ["a b"]}}, "antonyms: unknown key 'strong'"),
        ({"function": ["the", "a"]}, "function: expected a text, found ['the', 'a']"),
        ({"negations": "not"}, "negations: expected a list of texts, found 'not'"),
        ({"weekdays": [["monday"]]}, "weekdays: expected 7 lists of names, found 1"),
        ({"scale": {"hundred": "100x"}}, "scale: not what is expected here"),
        ({"numerals": {"one": "1"}}, "numerals: expected a whole number, found '1'"),
    ],
)
def test_a_key_that_is_none_or_holds_something_else_is_told_by_its_place(change: dict[str, Any], told: str) -> None:
    with pytest.raises(LanguageFileError, match=re.escape(told)):
        language_of_table("xx", {**SMALLEST, **change})


def test_a_key_that_every_language_needs_is_missed() -> None:
    for name in SMALLEST:
        with pytest.raises(LanguageFileError, match=f"xx.toml: the key '{name}' is missing"):
            language_of_table("xx", {key: value for key, value in SMALLEST.items() if key != name})


def test_every_language_has_the_words_that_each_sort_of_rule_needs() -> None:
    assert sorted(lexicon().languages) == language_codes()
    for code, language in lexicon().languages.items():
        assert len(language.function) >= 30 and len(language.negations) >= 10, code
        assert len(language.antonyms) >= 40 and len(language.fillers) >= 20, code
        assert set(language.weekdays.values()) == set(range(7)), code
        assert {group for entries in language.conditions.values() for _, group in entries} >= {"exception", "if"}, code
        assert language.particles.meanings and language.events.only, code
    assert len({language.grammar.rank for language in lexicon().languages.values()}) == len(lexicon().languages)


def test_every_expression_of_every_language_is_right() -> None:
    """They are compiled when they are first used, so nothing else would tell of a wrong one before."""
    sources: list[str] = []
    for language in lexicon().languages.values():
        first = [pattern for pattern, *_ in (*language.rewritten, *language.inflections)]
        found = [*first, *language.events.shapes.values(), *([language.runs] if language.runs else [])]
        sources += [*(item.pattern for item in found), *language.describing_endings, *language.secret_names]
    assert len(sources) > 50
    for source in sources:
        re.compile(source)


def test_opposites_of_english_count_in_texts_of_every_language() -> None:
    assert raw_table("en")["grammar"]["in_all_texts"]
    found = differences("Der Server ist enabled", "Der Server ist disabled")
    assert [item.kind for item in found] == ["antonym"]


def test_colours_exclude_each_other_in_their_language_alone() -> None:
    groups = lexicon().groups
    assert groups["rot"] & groups["blau"] and groups["red"] & groups["blue"]
    assert not groups["rot"] & groups["red"]


def test_a_language_with_a_file_is_no_stranger() -> None:
    listed = {"de": "und", "nl": "een"}
    assert strangers(listed, lexicon().languages.values()) == {"een"}


def test_every_rewritten_spelling_has_a_digit() -> None:
    """So a text without one is read as it is."""
    for language in lexicon().languages.values():
        assert all("\\d" in pattern.pattern for pattern, _ in language.rewritten), language.code
