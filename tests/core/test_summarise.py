"""Summaries made of sentences that are there: whole, bounded, in every script (host-systems D2, I10)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.consolidation.extractive_summary import LIMIT, MOST_SENTENCES, summarise
from wellkept.core.text.sentences import sentences

DEPLOYS = (
    "The nightly deploy failed because the disk was full. Ana was away.",
    "The nightly deploy failed again. The disk was full.",
    "Lunch was late.",
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Use v1.5 on port 80.", ["Use v1.5 on port 80."]),
        ("Dr. Wu agreed, e.g. on No. 5 and z. B. on Jan. 3.", ["Dr. Wu agreed, e.g. on No. 5 and z. B. on Jan. 3."]),
        ("It waits... and goes on. Done", ["It waits... and goes on.", "Done"]),
        ("1. First do this.\n2. Then that.", ["1. First do this.", "2. Then that."]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("first line\n\nsecond line", ["first line", "second line"]),
        ("今天部署失败了。安娜不在！明天再试", ["今天部署失败了。", "安娜不在！", "明天再试"]),
        ("デプロイは失敗した。「また明日。」", ["デプロイは失敗した。", "「また明日。」"]),
        ("आज तैनाती विफल रही। कल फिर।", ["आज तैनाती विफल रही।", "कल फिर।"]),
        ("فشل النشر؟ نعم.", ["فشل النشر؟", "نعم."]),
        ("Деплой упал. Диск полон.", ["Деплой упал.", "Диск полон."]),
        ("...", []),
        ("", []),
    ],
)
def test_a_text_is_split_where_a_sentence_surely_ends(text, found):
    """I10: marks of every script; a sentence cut in two could say something else."""
    assert sentences(text) == found


def test_the_most_shared_sentence_is_chosen_first():
    assert summarise(DEPLOYS, limit=60) == "The nightly deploy failed because the disk was full."


def test_sentences_stand_in_the_order_of_their_texts():
    told = summarise(("Alpha beta gamma delta.", "Beta gamma.", "Alpha delta gamma."), limit=200).split("\n")
    assert told == ["Alpha beta gamma delta.", "Beta gamma.", "Alpha delta gamma."]


@pytest.mark.parametrize("limit", [64, 100, 512])
def test_every_line_is_a_whole_sentence_of_a_source_and_the_whole_is_bounded(limit):
    texts = [f"Server {n} was restarted by Ana at {n} o'clock. It took {n * 3} minutes." for n in range(40)]
    told = summarise(texts, limit=limit)
    known = {one for text in texts for one in sentences(text)}
    assert 0 < len(told) <= limit and set(told.split("\n")) <= known


def test_a_sentence_too_long_is_left_out_and_never_cut():
    long = "This goes on " + "and on " * 100 + "unless it is stopped"
    assert summarise((long, "Tea is upstairs.")) == "Tea is upstairs."
    assert summarise((long, long + " today")) == ""


def test_of_very_many_sentences_the_first_are_read():
    tea, others = ["Green tea is upstairs.", "Green tea is sold."], [f"Word{n}." for n in range(MOST_SENTENCES)]
    assert "Green tea" in summarise([*others[2:], *tea], limit=64)
    assert "Green tea" not in summarise([*others, *tea], limit=64)


def test_the_same_sentence_in_another_spelling_is_told_once():
    assert summarise(("Tea is upstairs.", "tea is  upstairs", "TEA is upstairs!")) == "Tea is upstairs."


def test_a_figure_more_is_another_sentence():
    """I2: a sentence that differs in a number is not a repeat."""
    assert summarise(("Port 5433 is open.", "Port 5434 is open.")).split("\n") == [
        "Port 5433 is open.", "Port 5434 is open.",
    ]  # fmt: skip


def test_a_sentence_that_is_not_allowed_is_left_out_and_the_next_one_tried():
    told = summarise(DEPLOYS, allowed=lambda text: "disk" not in text)
    assert "disk" not in told and "The nightly deploy failed again." in told


def test_nothing_allowed_is_an_empty_summary():
    assert summarise(DEPLOYS, allowed=lambda _: False) == ""


@pytest.mark.parametrize(
    "texts",
    [
        ("今天夜间部署失败了。", "夜间部署又失败了。"),
        ("Деплой упал ночью.", "Ночью деплой опять упал."),
        ("فشل النشر الليلي.", "فشل النشر الليلي مرة أخرى."),
        ("रात की तैनाती विफल रही।", "रात की तैनाती फिर विफल रही।"),
    ],
)
def test_every_script_gets_a_summary(texts):
    """I10."""
    told = summarise(texts)
    assert told and set(told.split("\n")) <= set(texts)


def test_the_same_texts_give_the_same_summary():
    """I4: nothing random, nothing that depends on the order of a set."""
    words = ["deploy", "disk", "Ana", "port", "tea", "night", "server", "full", "late", "again"]
    draw = random.Random(7)
    texts = [" ".join(draw.choices(words, k=8)) + "." for _ in range(30)]
    assert len({summarise(texts) for _ in range(3)}) == 1


@given(st.lists(st.text(max_size=300), max_size=8))
def test_no_text_breaks_it_and_nothing_is_invented(texts):
    told = summarise(texts)
    assert len(told) <= LIMIT
    assert all(any(line in text for text in texts) for line in told.split("\n") if line)
