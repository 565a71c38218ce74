"""What says nothing worth keeping: the head's probability, and what becomes of the text."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from wellkept.core.gate.admit import judge
from wellkept.core.gate.worth_keeping import LONGEST_CHATTER, LOW_IMPORTANCE, is_instruction, is_small_talk
from wellkept.core.judging.calibration import IDENTITY
from wellkept.core.judging.chatter import Chatter, ChatterHead, facts_of
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.core.text.letter_groups import BUCKETS, LetterWeights, letters_of
from wellkept.policy import PRESETS, Policy
from wellkept.types import ImportedMemory, NewMemory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SURE, LIKELY, UNSURE = Chatter(0.98, 0.9, 0.6), Chatter(0.7, 0.9, 0.6), Chatter(0.5999, 0.9, 0.6)


def judged(new, chatter, policy=None):
    policy = policy or Policy()
    moment = Moment(NOW, "new", "n", policy, policy.for_kind(new.kind))
    return judge(new, Evidence(calibration=IDENTITY, chatter=chatter), moment)


def decided(chatter, text="off to lunch", kind="note", policy=None, **fields):
    """What becomes of a text, which rules say why, and with which importance it is stored."""
    told = judged(NewMemory(content=text, kind=kind, **fields), chatter, policy)
    return told.outcome, [reason.rule for reason in told.reasons], told.memory and told.memory.importance


@pytest.mark.parametrize(
    ("chatter", "expected"),
    [
        (None, ("created", ["nothing_like_it"], 0.5)),
        (UNSURE, ("created", ["nothing_like_it"], 0.5)),
        (replace(SURE, probability=0.6), ("created", ["nothing_like_it", "low_importance"], LOW_IMPORTANCE)),
        (LIKELY, ("created", ["nothing_like_it", "low_importance"], LOW_IMPORTANCE)),
        (replace(SURE, probability=0.8999), ("created", ["nothing_like_it", "low_importance"], LOW_IMPORTANCE)),
        (replace(SURE, probability=0.9), ("rejected", ["chatter"], None)),
        (SURE, ("rejected", ["chatter"], None)),
    ],
)
def test_sure_chatter_is_rejected_and_likely_chatter_weighs_little(chatter, expected):
    assert decided(chatter) == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"keep": True},
        {"pinned": True},
        {"title": "Lunch"},
        {"summary": "out"},
        {"subject": "Ines"},
        {"trigger": "at noon"},
        {"text": "off to [[Lunch]]"},
        {"text": "Ana: off to lunch"},
        {"text": "x" * (LONGEST_CHATTER + 1)},
        {"text": "see app.config"},
        {"text": "looking at maxRetries"},
        {"text": "checking retry_limit"},
        {"text": "off to ~/src/app"},
        {"text": "back on v2.1"},
        {"text": "running --lf now"},
        {"text": "again `make`"},
        {"text": "смотрю pytest"},
        {"text": "For all tests, use pytest."},
        {"kind": "episode"},
        {"kind": "turn_summary"},
        {"kind": "decision"},
    ],
    ids=str,
)
def test_the_head_does_not_speak_of_what_somebody_means_to_keep_or_of_events(fields):
    for chatter in (SURE, LIKELY):
        outcome, rules, importance = decided(chatter, **fields)
        assert (outcome, importance) == ("created", 0.5)
        assert not {"chatter", "low_importance"}.intersection(rules)


@pytest.mark.parametrize(
    ("probability", "expected"),
    [
        (0.9499, ("created", ["nothing_like_it", "low_importance"], LOW_IMPORTANCE)),
        (0.95, ("rejected", ["chatter"], None)),
    ],
)
def test_a_question_is_rejected_only_when_the_head_is_very_sure(probability, expected):
    """It may be something to look into."""
    assert decided(replace(SURE, probability=probability), "off to lunch?") == expected


def test_the_question_mark_says_nothing_of_the_worth_of_a_text():
    head = ChatterHead((0.0,), (0.1,) * len(facts_of("a")), LetterWeights([1] * BUCKETS, 0.01), 0.0, 0.9, 0.6)
    vector = np.zeros(1, dtype=np.float32)
    assert head.probability("off to lunch?", vector) != head.probability("off to lunch", vector)
    for text in ("off to lunch?", 'off to lunch?"', "off to lunch\uff1f", "off to lunch ?!"):
        assert head.read(text, vector) == head.read("off to lunch", vector)


def test_a_policy_without_the_content_filter_stores_everything():
    open_policy = Policy(kinds={**Policy().kinds, "note": replace(PRESETS["general"], admit="anything")})
    assert decided(SURE, policy=open_policy) == ("created", ["nothing_like_it"], 0.5)


@pytest.mark.parametrize("importance", [0.0, 0.4, 0.9])
def test_an_importance_of_the_caller_stays(importance):
    assert decided(LIKELY, importance=importance) == ("created", ["nothing_like_it"], importance)


def test_the_refusal_says_how_probable_it_is_and_holds_the_text():
    told = judged(NewMemory(content="off to lunch", kind="note"), SURE)
    assert told.reasons[0].detail == "probability 0.9800"
    assert told.dropped is not None
    assert told.dropped.content == "off to lunch"
    assert told.dropped.importance == 0.5
    assert not told.effects


def test_an_imported_text_is_weighed_like_any_other():
    assert judged(ImportedMemory(content="off to lunch", kind="note"), SURE).outcome == "rejected"


@pytest.mark.parametrize(
    ("bias", "weight", "probability"),
    [(0.0, 0.0, 0.5), (0.0, 2.0, 0.8808), (-100.0, 0.0, 0.0), (100.0, 0.0, 1.0), (1.0, -1.0, 0.5)],
)
def test_the_probability_is_rounded_and_bounded(bias, weight, probability):
    count = len(facts_of("a"))
    head = ChatterHead((weight, 0.0), (0.0,) * count, LetterWeights([0] * BUCKETS, 1.0), bias, 0.9, 0.6)
    assert head.probability("a", np.array([1.0, 0.0], dtype=np.float32)) == probability


def test_the_weights_of_letters_count_by_the_root_of_their_number():
    count, groups = len(facts_of("a")), letters_of("off to lunch")
    letters = [3 if group in groups else 0 for group in range(BUCKETS)]
    head = ChatterHead((0.0,), (0.0,) * count, LetterWeights(letters, 0.1), 0.0, 0.9, 0.6)
    expected = 1 / (1 + np.exp(-0.3 * len(groups) ** 0.5))
    assert head.probability("off to lunch", np.zeros(1, dtype=np.float32)) == pytest.approx(expected, abs=1e-4)


INSTRUCTIONS = (
    *("For all tests, use pytest.", "Never call before ten.", "Always answer in German.", "Prefer tabs.", "Use npm"),
    *("Don\u2019t email the customer", "The wiki is gone, use the repo.", "Nie vor zehn anrufen.", "Antworte kurz."),
    *("Für Tests: immer pytest.", "Utilise le nouveau client.", "N'utilise jamais ce compte.", "Usa siempre la copia."),
    *(
        "Evita correos largos.",
        "Usa il nuovo modulo.",
        "Non usare la chiave.",
        "Use o cliente novo.",
        "Prefira o trem.",
    ),
    *(
        "Всегда отвечай кратко.",
        "Не используй старый ключ.",
        "请使用新客户端。",
        "写测试时，务必用中文。",
        "必ず敬語を使う。",
    ),
)
SAID_IN_PASSING = (
    *("never mind", "Never mind, found it.", "always a pleasure", "don't worry about it", "always", "user is back"),
    *("I never sleep well", "Immer gern!", "immer noch hier", "toujours là", "siempre igual", "sempre qui"),
    *("всегда пожалуйста", "尽量吧", "reply sent to the customer", "Keep it up!", "Nie ma za co"),
)


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_an_instruction_to_the_agent_is_no_chatter_in_any_language(text):
    assert is_instruction(text)
    assert decided(SURE, text) == ("created", ["nothing_like_it"], 0.5)
    assert decided(LIKELY, text.upper()) == ("created", ["nothing_like_it"], 0.5)


@pytest.mark.parametrize("text", SAID_IN_PASSING)
def test_what_only_begins_like_an_instruction_is_chatter_as_before(text):
    assert not is_instruction(text)
    assert decided(SURE, text)[0] == "rejected"


@pytest.mark.parametrize(
    ("text", "other"),
    [("Tea at four.", "Tea at 4."), ("Tea?", "Tea!"), ("Tea", "tea"), ("喝茶", "ab"), ("Ask Ines", "Ask ines")],
)
def test_facts_tell_texts_apart_that_differ_in_form(text, other):
    assert facts_of(text) != facts_of(other)


def test_facts_of_any_text_are_finite_and_few():
    for text in ("", " ", "\U0001f44d", "a" * 100_000, "\u202e"):
        assert all(0 <= fact < 20 for fact in facts_of(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("off to lunch", True),
        ("see you at 5pm", True),
        ("brb, 10 min", True),
        ("back on the 2nd, e.g. Monday", True),
        ("yes and/or no", True),
        ("wait...what", True),
        ("hi @all", True),
        ("Доброе утро, ok", True),
        ("a.b.cc", False),
        ("see https://example.org", False),
        ("C++", False),
        ("p95 is fine", False),
        ("x" * LONGEST_CHATTER, True),
    ],
)
def test_everyday_signs_are_no_code(text, expected):
    assert is_small_talk(text) is expected
