"""compare never raises, hangs or depends on the order of the texts, whatever they hold (issue: item "What must
be shown"; I4, I10)."""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from growth import too_slow
from wellkept.core.differences.find import MAX_DIFFERENCES, differences, excludes
from wellkept.core.judging.compare import compare
from wellkept.core.reading.features import features
from wellkept.core.reading.lexer import kinds_of_tokens, prepared, token_pattern
from wellkept.types import Difference, Memory, Opinion, Statement

NOW = datetime(2026, 3, 4, tzinfo=UTC)

_PIECES = st.sampled_from(
    [
        "never", "not", "no", "no one", "nobody", "neither", "other than", "except", "only", "all",
        "every one", "until",
        "half ten", "half past", "quarter to", "a hundred", "two thirds", "1h30", "14-05",
        "the fourteenth of May", "may 14",
        "p. 212", "2× A100", "1e999", "1e-999", "9" * 60, "-0", "+0", "1.2.3.4", "99:99", "24:00",
        "32nd", "0/0", "1/0",
        "in the evening", "10:30 at night", "100 requests per minute", "6-week", "HOME/a/b", "PRs", "argon2id-hashed",
        "the shop is open", "the shop is closed", "a dog", "a cat", "buy", "purchase", "red",
        "blue", "Berlin", "Germany",
        "不", "没有", "禁止", "ない", "2026年13月99日", "下午25点", "百", "三个人",
        "не", "нет", "nicht", "ne", "plus", "ни",
        "\u0660\u0661\u0662", "\u0967\u0968", "\u216b", "½", "5²", "①", "٪", "\u200d", "\u202e",
        "\ufeff", "\x00", "\x1b[0m",
        "\ud800", "\udfff\ud800", "\U000e0061", "👩‍👩‍👧‍👦", "🇩🇪", "❌", "e\u0301", "ﬁ", "ß", "İ",
        "ı", "\u1e9e", "\n", "\r", "\t", "\u2028",
        "'", '"', "`", "''", "((", "))", "[[", "--", "-c", "**", "~~", "://", "@", "#", "//", "\\",
        "%", "…", ".", ";", ":", "=",
    ]
)  # fmt: skip
_ANY = st.text(st.characters(), max_size=60)
"""Every code point, lone surrogates and control characters among them."""
_WOVEN = st.lists(st.one_of(_PIECES, st.text(st.characters(), max_size=4)), max_size=16).map(" ".join)
_GLUED = st.lists(_PIECES, max_size=10).map("".join)
TEXTS = st.one_of(_ANY, _WOVEN, _GLUED)
_SHARE = st.floats(0.0, 1.0)
OPINIONS = st.builds(
    Opinion, same=_SHARE, refines=_SHARE, generalises=_SHARE, conflict=_SHARE, distinct=_SHARE, model=st.just("any")
)


def _stored(text: str) -> Memory:
    return Memory(id="m1", namespace="n", content=text, created_at=NOW, updated_at=NOW)


def _directed(found: tuple[Difference, ...]) -> list[tuple[str, str, str, bool, bool]]:
    return [(d.kind, d.old, d.new, d.decisive, d.sure) for d in found if d.decisive]


def _mirrored(found: tuple[Difference, ...]) -> list[tuple[str, str, str, bool, bool]]:
    return [(d.kind, d.new, d.old, d.decisive, d.sure) for d in found if d.decisive]


@examples(60, 150, deadline=None)
@given(TEXTS, TEXTS, st.none() | OPINIONS)
def test_any_two_texts_are_compared_and_the_answer_is_the_same_twice(
    old: str, new: str, opinion: Opinion | None
) -> None:
    memory, statement = _stored(old), Statement(content=new)
    first = compare(statement, memory, cosine=0.97, similarity=0.97, opinion=opinion)
    _forget()
    assert first == compare(statement, memory, cosine=0.97, similarity=0.97, opinion=opinion)
    assert len(differences(old, new)) <= MAX_DIFFERENCES


def _forget() -> None:
    """Clears the caches, so that the second answer is computed again."""
    differences.cache_clear()
    features.cache_clear()


@examples(80, 200, deadline=None)
@given(TEXTS, TEXTS)
def test_swapped_texts_give_the_mirrored_conflicts_and_the_same_kinds(old: str, new: str) -> None:
    """Only `detail`, and a negation within such a detail, name content that the new text adds."""
    forth, back = differences(old, new), differences(new, old)
    assert sorted(_directed(forth)) == sorted(_mirrored(back))
    one_sided = [d.kind for found in (forth, back) for d in found if d.kind == "negation" and not (d.old and d.new)]
    added = {"detail", *one_sided}
    assert {d.kind for d in forth} - added == {d.kind for d in back} - added


_DECIDING = ["Use", "Never use", "X", "5 MB", "6 MB", "for the store", "Postgres", "SQLite", "is open", "is closed"]
_SAID = st.lists(st.sampled_from(_DECIDING), max_size=4).map(" ".join)


@examples(60, 150, deadline=None)
@given(TEXTS | _SAID, TEXTS | _SAID)
def test_whether_a_text_excludes_the_other_is_known_without_the_other_differences(old: str, new: str) -> None:
    """More than twelve differences are cut, but decisive ones come first."""
    assert excludes(old, new) is any(item.decisive for item in differences(old, new))


_CONFLICTS = [
    ("threshold 0.85", "threshold 0.95"),
    ("Use Postgres for the events store", "Use SQLite for the events store"),
    ("The review is on Tuesday", "The review is on Thursday"),
    ("The ticket is open", "The ticket is closed"),
    ("The pet is a dog", "The pet is a cat"),
    ("The upload limit is 5 MB", "The upload limit is 5 GB"),
]


@examples(40, 100, deadline=None)
@given(st.sampled_from(_CONFLICTS), OPINIONS, st.booleans())
def test_no_opinion_makes_a_decisive_difference_disappear(
    texts: tuple[str, str],
    opinion: Opinion,
    turned: bool,  # noqa: FBT001 - hypothesis fills it
) -> None:
    old, new = reversed(texts) if turned else texts
    alone = compare(Statement(content=new), _stored(old), cosine=0.9, similarity=0.9)
    asked = compare(Statement(content=new), _stored(old), cosine=0.9, similarity=0.9, opinion=opinion)
    assert [d for d in asked.differences if d.decisive] == [d for d in alone.differences if d.decisive]
    assert asked.relation == alone.relation == "conflict"


@examples(25, 50, deadline=None)
@given(OPINIONS)
def test_only_a_denial_may_be_doubted_and_it_stays_a_difference(opinion: Opinion) -> None:
    found = compare(
        Statement(content="Never use X"), _stored("Use X"), cosine=0.9, similarity=0.9, opinion=opinion
    ).differences
    assert [d.kind for d in found if d.kind == "negation"] == ["negation"]
    likely = replace(opinion, conflict=0.9)
    sure = compare(Statement(content="Never use X"), _stored("Use X"), cosine=0.9, similarity=0.9, opinion=likely)
    assert sure.relation == "conflict"


_SIGNS_OF_TOKENS = st.text(st.sampled_from("abAPMvx 12.,:/-+@#_'!~\n\u00e9\u0430数時"), max_size=24)


@examples(100, 400, deadline=None)
@given(TEXTS | _SIGNS_OF_TOKENS)
def test_no_special_token_begins_where_a_plain_word_stands(text: str) -> None:
    """The token pattern passes over such places; every place looked at gives the same tokens."""
    special, plain = kinds_of_tokens()
    everywhere = re.compile("|".join([*special, *plain]))
    folded = prepared(text)
    found, wanted = (
        [(hit.lastgroup, hit.span()) for hit in each.finditer(folded)] for each in (token_pattern(), everywhere)
    )
    assert found == wanted


@examples(60, 150, deadline=None)
@given(TEXTS)
def test_no_digit_of_a_text_is_dropped(text: str) -> None:
    """I10: a digit that no token holds would make two amounts equal."""
    folded = prepared(text)
    covered = bytearray(len(folded))
    for found in token_pattern().finditer(folded):
        covered[found.start() : found.end()] = b"\x01" * (found.end() - found.start())
    assert all(covered[at] for at, char in enumerate(folded) if char.isdecimal())


_HOSTILE = [
    "a", "9", " ", "1,", "1 ", "-.", "_a", "a-b-", "/a.", "#", "((", "a'", "a@b.", "not ",
    "no one ", "half past ", "may 14 ",
    "neither nor ", "数据库", "不", "三百", "ない", "e\u0301", "\u200d", "🇩🇪", "\ud800", "x\n",
    "The limit is 5. ", "10:30 in the ",
    "1h30", "14-05-", "the fourteenth of ", "a hundred ", "twenty ", "one third of ", "HOME/",
    "p. 2", "never Alice, never Bob; ",
    "a.b" , "v1.", "1/2 ", "**", "`", "--a=", "A+", "http://", "2× ",
]  # fmt: skip


_BOUND = 2.0
"""Generous seconds of work for one comparison: quadratic work would need minutes, a hang never ends."""


def _worked(piece: str, length: int) -> float:
    text = (piece * (length // len(piece) + 1))[:length]
    started = time.process_time()
    differences(text, text[: length // 2] + " x 7 not " + text[: length // 2 - 9])
    return time.process_time() - started


@pytest.mark.parametrize("piece", _HOSTILE)
def test_a_repetitive_text_is_compared_in_bounded_time(piece: str) -> None:
    assert _worked(piece, 10_000) < _BOUND


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["1 ", "The limit is 5. ", *(pytest.param(one, marks=pytest.mark.soak) for one in ("三百", "p. 2"))]
)
def test_ten_times_the_characters_take_about_ten_times_as_long(piece: str) -> None:
    """Quadratic work takes a hundred times as long. A ratio is the same on every machine."""
    turn = itertools.count()  # another text each time: nothing answers from a cache
    assert too_slow(lambda length: _worked(piece, length + next(turn)), 5_000, 50_000, 40) == ""
