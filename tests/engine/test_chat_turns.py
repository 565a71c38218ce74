"""Turns of a conversation contradict nothing by the model's word: questions, greetings, answers, other speakers."""

from __future__ import annotations

import pytest

import wellkept
from wellkept.core.reading.chat_turns import is_turn, questions, speaker

TURNS = [
    "Caroline: I joined a support group yesterday and it was powerful.",
    "Melanie: Wow, Caroline! That's huge! How did it feel to be around so much love?",
    "Caroline: It was so inspiring, Mel! People of all kinds celebrated life.",
    "Melanie: Thanks, Caroline! Painting is a fun way to express my feelings.",
    "Melanie: We love painting together lately, nature most of all.",
    "Caroline: Glad it helped you, Melanie!",
    "Melanie: Wow, that agency looks great! What made you pick it?",
    "Caroline: They help people like me with adoption.",
    "Melanie: What's the band",
    "Caroline: I felt so proud and grateful - the mood was amazing.",
    "Melanie: I live in Oslo.",
    "Caroline: I live in Graz.",
]


def test_a_conversation_opens_no_conflict() -> None:
    with wellkept.open("memory:") as store:
        for kind in ("episodic", "note"):
            place = store.in_namespace(kind)
            results = place.remember_many([{"content": turn, "kind": kind} for turn in TURNS]).results
            assert [result.conflicts for result in results if result is not None and result.conflicts] == []
            assert [action for action in place.plan().actions if action.type == "flag_contradiction"] == []


def test_what_one_speaker_says_of_one_thing_is_still_compared_by_rules() -> None:
    with wellkept.open("memory:") as store:
        store.remember("Caroline: My flight leaves at 9:30.", kind="note")
        assert store.remember("Caroline: My flight leaves at 10:45.", kind="note").conflicts
        assert not store.remember("Melanie: My flight leaves at 11:15.", kind="note").conflicts


SPEAKERS = [
    ("Caroline: I moved to Graz.", "caroline"),
    ("Melanie: Flowers bring joy.", "melanie"),
    ("user: my name is Bo", "user"),
    ("Анна: я живу в Твери", "анна"),
    ("小明：我喜欢茶", "小明"),
    ("Decision: we use Postgres.", ""),
    ("Note: I moved the server", ""),
    ("Port: 8080", ""),
    ("Решение: используем Postgres", ""),
    ("How to deploy: run make", ""),
    ("https://example.org", ""),
]


@pytest.mark.parametrize(("text", "name"), SPEAKERS)
def test_a_speaker_is_no_label(text: str, name: str) -> None:
    assert speaker(text) == name


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("What made you pick it?", True),
        ("What's the band", True),
        ("Hast du die Karten", True),
        ("你喜欢茶吗", True),
        ("お茶は好きですか", True),
        ("When merging, run the tests.", False),
        ("What we know stands in the wiki.", False),
    ],
)
def test_a_question_is_known_by_its_sign_or_its_form(text: str, *, asked: bool) -> None:
    assert questions(text) is asked and (is_turn(text) or not asked)


@pytest.mark.parametrize(
    "text",
    ["The deploy runs on Friday.", "No merges on Friday", "Great Yarmouth has two offices by the sea", "Use ruff"],
)
def test_a_statement_is_no_turn(text: str) -> None:
    assert not is_turn(text)
