"""The forms of a text, as tables of input -> form."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellkept.core.lexicon import in_all_languages, lexicon
from wellkept.core.text.forms import (
    EMBED_LIMIT,
    MAX_TERMS,
    canonical,
    canonical_hash,
    check_text,
    content_hash,
    decode,
    embed_text,
    excerpt,
    fold,
    is_junk,
    is_line,
    label,
    search_terms,
    slot_key,
    text_overlap,
)
from wellkept.core.text.letter_case import without_case
from wellkept.core.text.same_words import in_same_words
from wellkept.errors import ContentTooLarge, EmptyContent, InvalidText

SAME_WORDS = [
    ("Use SQLite", "use sqlite!"),  # S4-2
    ("Use SQLite", "Use  SQLite"),
    ("Don\u2019t deploy", "don't deploy."),
    ("**Bold** and `code`", "bold and code"),
    ("\u201cQuoted\u201d text", "quoted text"),
    ("ＡＢＣ １２３", "abc 123"),
    ("a\u00adb", "ab"),
    ("\ufeffhello\u200b", "Hello"),
    ("数据库。", "数据库"),
    ("¿Listo?", "listo??"),
    ("5 Minutes", "5 minutes"),
    ("5 HZ", "5 Hz"),
    ("5 KB", "5 kB"),
    ("5\u2033 long", '5" long'),
    ('Say "version 5" now', "say version 5 now"),
    ("Say 'version 5' now", "say version 5 now"),
    ("a:\n* b\n* c", "a:\n- b\n- c"),
    ("`from x import *`", "from x import *"),
    ("Ready ?", "ready?!"),
    ("costs 5 %", "costs 5%"),
    ("STRASSE", "straße"),
    ("3\u20135 days", "3-5 days"),
    ("\u22125 degrees", "-5 degrees"),
    ("- item one", "item one"),
    ("10⁻²", "10^-2"),
    ("10⁺²", "10^+2"),
]

OTHER_WORDS = [  # I10, B-13
    ("1.5", "15"),
    ("1,000", "1.000"),
    ("C++", "C"),
    ("C#", "C"),
    (".env", "env"),
    ("--force", "force"),
    ("#441", "441"),
    ("@name", "name"),
    ("a != b", "a = b"),
    ("+5%", "-5%"),
    ("-5", "5"),
    ("5²", "52"),
    ("10⁻²", "10⁺²"),
    ("10⁻²", "10²"),
    ("1½", "11/2"),
    ("5 MB", "5 Mb"),
    ("€5", "$5"),
    ("10:30", "1030"),
    ("/etc/hosts", "etc hosts"),
    ("数据库", "数据"),
    ("ขาว", "ข่าว"),
    ("की", "का"),
    ("👍", "👎"),
    ("!!!", "???"),
    ("__init__", "init"),
    ("v1.2.3", "v12.3"),
    ("`.env`", "`env`"),
    ("x²", "x2"),
    ("5 mΩ", "5 MΩ"),
    ("5 mHz", "5 MHz"),
    ("5 mg", "5 Mg"),
    ("5 mPa", "5 MPa"),
    ("5m", "5M"),
    ("It is 5' long", 'It is 5" long'),
    ("It is 5' long", "It is 5 long"),
    ("He is 5'10\"", "He is 5'10"),
    ("SELECT * FROM t", "SELECT FROM t"),
    ("from x import *", "from x import"),
    ("count(*)", "count"),
    ("Deploy is safe?", "Deploy is safe."),
    ("Use SQLite?", "Use SQLite"),
    ("tar -c", "tar -C"),
    ("Grade A", "Grade A-"),
    ("Grade A+", "Grade A-"),
]


@pytest.mark.parametrize(("a", "b"), SAME_WORDS)
def test_writing_variants_have_one_canonical_form(a: str, b: str) -> None:
    assert canonical(a) == canonical(b)
    assert canonical_hash(a) == canonical_hash(b)
    assert in_same_words(a, b)


@pytest.mark.parametrize(("a", "b"), OTHER_WORDS)
def test_signs_that_carry_meaning_stay(a: str, b: str) -> None:
    assert canonical(a) != canonical(b)
    assert not in_same_words(a, b)


@pytest.mark.parametrize("pairs", [2, 20, 200])
def test_marks_that_only_hold_each_other_are_dropped_however_many(pairs: int) -> None:
    assert canonical(f"{'*.' * pairs}ー") == canonical(canonical(f"{'*.' * pairs}ー")) == "ー"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("верно для", True),
        (" ", False),
        ("half \ud800", False),
        ("no\x00thing", False),
        ("two\nlines", False),
        ("over\u202eturned", False),
    ],
)
def test_a_line_is_visible_and_one(text: str, *, line: bool) -> None:
    assert is_line(text) is line


@pytest.mark.parametrize("text", ["数据库", "日本語です", "ไทย", "हिन्दी", "🚀", "…", "C++", "."])
def test_no_text_with_something_in_it_becomes_empty(text: str) -> None:
    assert canonical(text)


_MIXED = st.text(
    st.sampled_from(list("ab1 2.-_/*#@!=:,'?MmC%`\"+²½é中ل़-\u2212\u2013\u200d\u200bΩßİＡ🚀$\n()")), max_size=14
)


@settings(max_examples=400, deadline=None)
@given(st.one_of(_MIXED, st.text(max_size=14)))
def test_canonical_of_canonical_changes_nothing(text: str) -> None:
    once = canonical(text)
    assert canonical(once) == once


_ASCII = st.text(st.sampled_from("ab1 2.-_/*#@!=:,'?MmC%`\"+~$\n()kbB"), max_size=10)


@settings(max_examples=400, deadline=None)
@given(st.one_of(_ASCII, _MIXED), st.one_of(_ASCII, _MIXED))
def test_texts_are_in_the_same_words_where_their_canonical_forms_are_equal(one: str, other: str) -> None:
    for a, b in ((one, other), (one, f" {one.upper()}! "), (one, canonical(one)), (one, one + other)):
        assert in_same_words(a, b) is in_same_words(b, a) is (canonical(a) == canonical(b))


@settings(max_examples=300, deadline=None)
@given(st.one_of(_MIXED, st.text(max_size=20)))
def test_canonical_drops_no_letter_digit_or_symbol(text: str) -> None:
    """I10."""
    kept = canonical(text).casefold()
    for char in unicodedata.normalize("NFKC", fold(text).casefold()):
        if unicodedata.category(char)[0] in "LNS" and char not in "`\u2212":
            assert char.casefold() in kept


def test_what_a_pattern_that_ignores_case_takes_for_equal_is_equal_without_case() -> None:
    """Texts are spared patterns of words that they do not contain."""
    every = "".join(map(chr, range(0x110000)))
    words = "".join(in_all_languages("passing_over") | in_all_languages("secret_names") | set(lexicon().secret_names))
    for letter in sorted(filter(str.isalpha, set(words))):
        alike = re.findall(re.escape(letter), every, re.IGNORECASE)
        assert {without_case(one) for one in alike} == {without_case(letter)}


def test_hashes_are_64_hex_digits_and_tell_texts_apart() -> None:
    """S4-1."""
    assert len(content_hash("x")) == 64
    assert set(content_hash("x")) <= set("0123456789abcdef")
    assert content_hash("x") != content_hash("x ")
    assert content_hash("x") == content_hash("x")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [  # S3-27, S3-28
        ("one two three", "one two three", 1.0),
        ("one two", "three four", 0.0),
        ("a b c d", "a b x y", 0.5),
        ("Show Me", "show me", 1.0),
        ("", "anything", 0.0),
        (None, "anything", 0.0),
        ("   ", "   ", 0.0),
        ("hello", "hello world", 1.0),
        ("Here's my status", "Here's my current status", 1.0),
    ],
)
def test_overlap_is_shared_words_over_the_shorter_text(a: str | None, b: str | None, expected: float) -> None:
    assert text_overlap(a, b) == expected


def test_overlap_of_two_stores_that_differ_in_one_word_is_five_sixths() -> None:
    """B-26."""
    overlap = text_overlap("Use Postgres for the events store", "Use SQLite for the events store")
    assert round(overlap, 3) == 0.833


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("PR#441", ["pr_441", "pr", "441"]),
        ("MemoryStore.recall()", ["memorystore_recall", "memorystore", "recall", "memory", "store"]),
        ("v1.2.3", ["v1_2_3", "v1", "2", "3"]),
        ("Café über", ["cafe", "uber"]),
        ("Ёлка йод", ["елка", "йод"]),
        ("数据库", ["数据", "据库"]),
        ("猫", ["猫"]),
        ("C++ and C#", ["cplusplus", "c", "and", "csharp", "c"]),
        ("again again", ["again", "again"]),
        ("...", []),
        ("_ tea", ["tea"]),
    ],
)
def test_search_terms_hold_identifiers_whole_and_in_parts(text: str, terms: list[str]) -> None:
    """S2-14."""
    assert search_terms(text) == terms


def test_a_long_text_has_the_terms_of_its_beginning() -> None:
    line = "PR#441 läuft x² \u200dne\u0301e 数据库 "
    assert search_terms(line * 100_000) == (search_terms(line) * 1_000)[:MAX_TERMS]
    spaceless = "läuft数" * 60_000
    assert search_terms(spaceless) == (["lauft", "数"] * MAX_TERMS)[:MAX_TERMS]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_search_terms_hold_no_character_that_full_text_search_would_split_oddly(text: str) -> None:
    for term in search_terms(text):
        assert term and not any(c.isspace() or c in "\"'*():^-+" for c in term)


def test_search_terms_of_a_very_long_text_are_those_of_all_its_parts() -> None:
    parts = [f"{'!' * 70_000} PR#{number} läuft" for number in range(4)]
    assert search_terms(" and ".join(parts)) == search_terms(" and ".join(part[70_000:] for part in parts))


def test_search_terms_are_bounded() -> None:
    terms = search_terms("word " * 9000 + "x" * 500)
    assert len(terms) == MAX_TERMS
    assert all(len(term) <= 64 for term in search_terms("x" * 500))


def test_slot_keys_ignore_case_and_blanks_only() -> None:
    """S3-5, S3-23.6."""
    assert slot_key("  Nous  Version ") == slot_key("nous version")
    assert slot_key("C++") != slot_key("C")


def test_excerpts_are_one_line_without_control_characters() -> None:
    assert excerpt("one\n\ttwo\x07three", 80) == "one two three"
    assert excerpt("a" * 100, 10) == "a" * 9 + "…"
    assert len(excerpt("word " * 5000, 60)) <= 60


def test_a_label_is_the_title_or_the_beginning() -> None:
    assert label("Title", "content") == "Title"
    assert label(" ", "content here") == "content here"


def test_one_builder_makes_the_text_that_is_embedded() -> None:
    """S0-12, B-16."""
    full = embed_text(kind="lesson", title="T", summary="S", content="C", trigger="W")
    assert full == "[lesson] T\nS\nW\nC"
    assert embed_text(kind="lesson", title="", summary="", content="C", trigger="W") == "C"
    assert embed_text(kind="fact", title="", summary="S", content="C") == "S\nC"
    assert len(embed_text(kind="fact", title="", summary="", content="x" * 99_999)) == EMBED_LIMIT


@pytest.mark.parametrize("text", ["", "  \n", "\u200b\ufeff"])
def test_empty_text_is_refused(text: str) -> None:
    with pytest.raises(EmptyContent):
        check_text(text, limit=10)


@pytest.mark.parametrize(
    ("text", "names"), [("a\x00", "U+0000"), ("a\x1b", "U+001B"), ("\ud800", "U+D800"), ("ok\ufffe", "U+FFFE")]
)
def test_unkeepable_characters_are_refused_by_name(text: str, names: str) -> None:
    with pytest.raises(InvalidText, match=names.replace("+", r"\+")):
        check_text(text, limit=10)


def test_the_limit_counts_characters_and_is_inclusive() -> None:
    check_text("x" * 10, limit=10)
    with pytest.raises(ContentTooLarge):
        check_text("x" * 11, limit=10)


def test_bytes_that_are_no_utf8_are_refused_with_their_offset() -> None:
    assert decode("\ufeffgrün".encode()) == "grün"
    with pytest.raises(InvalidText, match="byte 2"):
        decode(b"ab\xff")


@pytest.mark.parametrize(
    "text",
    ["Done!", "ok", "On it 🚀", "Done! ✅", "thanks!", "好的", "Danke!", "Merci beaucoup", "да", "了解です",
     "OK, thanks", "!!!", "🎉🎉",
     "aaaaaaaaaaaaaaa", "Gracias", "Obrigado!", "\U0001f44d done", "kein Problem"],
)  # fmt: skip
def test_acknowledgements_are_junk_in_every_language(text: str) -> None:
    """E-3.2."""
    assert is_junk(text)


@pytest.mark.parametrize(
    "text",
    ["Use X", "42", "done deal with Acme", "Ok is the name of our CI bot", "使用 SQLite",
     "No deploys", "Thanks goes to Ana for the fix",
     "Test coverage is 80%", "x", "\U0001f44e", "ok \U0001f44e", "No!", "no thanks", "Nein, danke", "Нет, спасибо"],
)  # fmt: skip
def test_short_statements_are_not_junk(text: str) -> None:
    assert is_junk(text) is None


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("5 HZ and 5 MHz, 3MB 3Mb", "5 hz and 5 Mhz 3MB 3Mb"),
        ("Word1 Word2 12 Words", "word1 word2 12 words"),
        ("ls -C -c x-C --C", "ls -C -c x-c --c"),
        ("1Mb/s 5KPH 7 Kibit", "1Mb/s 5kph 7 kibit"),
    ],
)
def test_the_case_of_flags_and_of_units_behind_a_number_is_kept_and_no_other(text, form):
    assert canonical(text) == form
