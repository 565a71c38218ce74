"""Look-alike letters and invisible characters are folded for hashing; every script stays what it is (issue 14, I10)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import wellkept
from wellkept.core.records.merge import canonical_alias
from wellkept.core.text.forms import canonical, check_text, search_terms
from wellkept.core.text.lookalikes import _scripts, one_script
from wellkept.errors import EmptyContent

FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e007f"
SAME = [
    ("a Cyrillic a in a Latin word", "Use p\u0430ypal for invoices", "Use paypal for invoices"),
    ("most letters of a word borrowed", "the \u0441\u043e\u0440y is old", "the copy is old"),
    ("a word of look-alikes in a Latin text", "Please \u0441\u043e\u0440\u0443 the file", "Please copy the file"),
    ("a capital", "\u0410PI keys expire", "API keys expire"),
    ("a Greek capital", "\u03a1ython 3.12 is used", "Python 3.12 is used"),
    ("an omicron", "G\u03bf to the office", "Go to the office"),
    ("a Greek letter inside a word", "p\u03b1ypal is down", "paypal is down"),
    ("an Armenian letter", "t\u0585ken is secret", "token is secret"),
    ("a Cherokee letter", "\u13aaPI is open", "API is open"),
    ("a Latin letter in a Russian word", "Мой п\u0061роль длинный", "Мой пароль длинный"),
    ("full width", "\uff50\uff41ypal is down", "paypal is down"),
    ("a zero-width space", "pass\u200bword", "password"),
    ("a joiner", "pass\u200dword", "password"),
    ("a non-joiner", "pass\u200cword", "password"),
    ("a combining grapheme joiner", "pass\u034fword", "password"),
    ("a Hangul filler", "pass\u3164word", "password"),
    ("a half-width Hangul filler", "pass\uffa0word", "password"),
    ("a soft hyphen", "pass\u00adword", "password"),
    ("a variation selector", "pass\ufe01word", "password"),
    ("a later variation selector", "pass\U000e0101word", "password"),
    ("a mark of direction", "pass\u202eword\u202c", "password"),
    ("an isolate", "\u2066password\u2069", "password"),
    ("tags", "pass\U000e0041\U000e0042word", "password"),
    ("tags beside a flag", FLAG + " a\U000e0041b", FLAG + " ab"),
    ("a joiner behind an ideograph", "数\u200d据库", "数据库"),
    ("a text emoji and a coloured one", "I ❤\ufe0e tea", "I ❤\ufe0f tea"),
]  # fmt: skip

APART = [
    ("a Russian word and its Latin twin", "Это сор и рот", "Это cop и poт"),
    ("a Russian text of look-alikes only", "сор", "cop"),
    ("words in capitals beside a Latin one", "ТЕСТ SQL", "TECT SQL"),
    ("a Greek symbol at the end", "TNFα is high", "TNFa is high"),
    ("a Greek symbol at the beginning", "νmax is 5", "vmax is 5"),
    ("a unit", "5 μA", "5 uA"),
    ("a decimal point", "1.5", "15"),
    ("a digit and a letter", "O0", "OO"),
    ("a family and its members", "👨\u200d👩\u200d👧 is here", "👨👩 is here"),
    ("two professions", "👩\u200d💻 came", "👩\u200d🔬 came"),
    ("two flags of tags", "\U0001f3f4\U000e0067\U000e0062\U000e007f x", "\U0001f3f4\U000e0075\U000e0073\U000e007f x"),
    ("a Persian non-joiner between words", "می\u200cخواهم", "می خواهم"),
    ("an Indic joiner", "क्\u200dष", "कष"),
]

UNCHANGED = [
    "Сервис использует SQLite и API-ключ",
    "Η υπηρεσία χρησιμοποιεί το SQLite",
    "пушить в main'е",
    "Ծառայությունը օգտագործում է SQLite",
    "Δt = 5 μs, hν = E, ρair = 1.2",
    "Тест SQL в CI",
]


@pytest.mark.parametrize(("old", "new"), [case[1:] for case in SAME], ids=[case[0] for case in SAME])
def test_what_looks_the_same_has_one_canonical_form(old: str, new: str) -> None:
    assert canonical(old) == canonical(new)


@pytest.mark.parametrize(("old", "new"), [case[1:] for case in APART], ids=[case[0] for case in APART])
def test_what_says_something_else_stays_apart(old: str, new: str) -> None:
    assert canonical(old) != canonical(new)


@pytest.mark.parametrize("text", UNCHANGED)
def test_a_text_of_another_script_keeps_its_letters(text: str) -> None:
    assert one_script(text) == text


@pytest.mark.parametrize("name", ["Москва", "Ελλάδα", "Երևան", "ᏣᎳᎩ", "東京", "서울", "ירושלים", "दिल्ली", "ไทย"])
def test_a_word_of_its_own_script_stays_in_a_latin_text(name: str) -> None:
    text = f"The office in {name} opens in May and closes in June"
    assert one_script(text) == text


def test_the_table_maps_letters_of_its_script_to_latin_ones() -> None:
    for script in _scripts():
        assert all(script.letters.fullmatch(letter) for letter in script.latin)
        assert all(letter.isalpha() and ord(letter) < 0x250 for letter in script.latin.values())


@pytest.mark.parametrize("text", ["\u3164", "\u034f \u115f\u1160", "\ufe0f\u200b", "\U0001d173"])
def test_a_text_of_invisible_characters_is_empty(text: str) -> None:
    with pytest.raises(EmptyContent):
        check_text(text, limit=100)


def test_a_hidden_word_is_found_by_its_letters() -> None:
    assert search_terms("pa\u034fss\u200dword") == ["password"]


def test_a_text_with_look_alikes_is_a_duplicate_and_is_stored_as_it_was_written(tmp_path: Path) -> None:
    with wellkept.open(tmp_path / "memory.db", embedder="hashing") as store:
        written = "Invoices are paid through P\u0430y\u200dpal on Fridays"
        first = store.remember(written)
        again = store.remember("Invoices are paid through Paypal on Fridays")
        assert (first.outcome, again.outcome) == ("created", "duplicate")
        assert store.get(first.memory.id).content == written


def test_a_store_made_before_is_mended_by_its_own_check(tmp_path: Path) -> None:
    """Its hash of such a text was made of the letters as they stand; `verify` says so, and repairs it."""
    file = tmp_path / "memory.db"
    with wellkept.open(file, embedder="hashing") as store:
        memory = store.remember("Invoices are paid through P\u0430ypal on Fridays").memory
    with sqlite3.connect(file) as raw:
        changed = raw.execute("UPDATE alias SET hash = 'old' WHERE hash = ?", (canonical_alias(memory.content),))
        assert changed.rowcount == 1
    with wellkept.open(file, embedder="hashing") as store:
        assert ["is not found by the hashes of its own text"] == [problem.what for problem in store.verify()]
        assert store.repair(dry_run=False).mends
        again = store.remember("Invoices are paid through PAYPAL on Fridays")
        assert again.outcome == "duplicate"
