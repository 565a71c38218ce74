"""The statements of a turn: which sentences are kept, and why the others are not."""

from __future__ import annotations

from collections import Counter

import pytest

from wellkept.core.transcripts.statements import LONGEST, all_statements, statements
from wellkept.core.transcripts.turns import Role, Turn


def turn(text: str, speaker: str = "", role: Role = "person", conversation: str = "c") -> Turn:
    return Turn(conversation=conversation, place="1", text=text, speaker=speaker, role=role)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("I moved to Graz in May. And you?", ["I moved to Graz in May."]),
        ("Ich bin im Mai nach Graz gezogen. Und du?", ["Ich bin im Mai nach Graz gezogen."]),
        ("Je travaille chez Dr. Petit depuis mai. Et toi ?", ["Je travaille chez Dr. Petit depuis mai."]),
        ("Я переехал в Грац в мае. А ты?", ["Я переехал в Грац в мае."]),
        ("我五月搬到了格拉茨。你呢？", ["我五月搬到了格拉茨。"]),
        ("五月にグラーツへ引っ越しました。あなたは？", ["五月にグラーツへ引っ越しました。"]),
        ("मैं मई में ग्राज़ चला गया। और तुम?", ["मैं मई में ग्राज़ चला गया।"]),
        ("انتقلت إلى غراتس في مايو. وأنت؟", ["انتقلت إلى غراتس في مايو."]),
        ("ผมย้ายไปกราซในเดือนพฤษภาคม", ["ผมย้ายไปกราซในเดือนพฤษภาคม"]),
    ],
)
def test_questions_are_left_out_in_every_script(text: str, kept: list[str]) -> None:
    assert [one.text for one in statements(turn(text)) if one.why is None] == kept


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Where do you live now?", "question"),
        ("Thanks so much, Mel!", "greeting"),
        ("ok", "filler"),
        ("In the kitchen.", "fragment"),
        ("These are the steps for it:", "fragment"),
        ("https://example.org/a/b is it", "fragment"),
        ("word " * LONGEST, "too long"),
        ("The password of the staging database is hunter2pass.", "secret"),
        ("We use sk-proj-abc123abc123abc123abc123 for the tests.", "secret"),
        ("Connect to postgres://ana:hunter2@db.example for it.", "secret"),
    ],
)
def test_what_states_nothing_is_left_out_with_its_reason(text: str, why: str) -> None:
    assert [one.why for one in statements(turn(text))] == [why]


def test_code_quotations_headings_and_tables_are_no_speech() -> None:
    text = (
        "# The plan of today\n> He said that it is raining.\n| a row | of a table |\n"
        "```sh\necho it is raining today\n```\n"
        "- [x] **The staging box** moved to [db2](https://db.example).\n~~~\nnever closed, so all is code here"
    )
    assert [one.text for one in statements(turn(text))] == ["The staging box moved to db2."]


@pytest.mark.parametrize("fence", ["```", "````", "  ```"])
def test_code_between_backticks_within_a_line_begins_no_block(fence: str) -> None:
    text = f"{fence}make test{fence.strip()} runs the whole suite.\nWe run it before each commit."
    assert [one.text for one in statements(turn(text))] == [line.strip() for line in text.splitlines()]
    text = f"{fence}sh\nmake test is run here\n{fence} \nWe run it before each commit."
    assert [one.text for one in statements(turn(text))] == ["We run it before each commit."]


def test_the_sentences_of_a_turn_after_the_first_2000_are_counted() -> None:
    found = Counter(one.why for one in statements(turn("We moved the office to Graz. " * 2_007)))
    assert found == {None: 2_000, "too many": 7}


def test_the_speaker_stands_in_front_once_and_pronouns_stay() -> None:
    said = [
        *statements(turn("She told me that we won the cup.", "Ana")),
        *statements(turn("Ben: I like my new job a lot.", "Ana")),
    ]
    assert [one.content for one in said] == [
        "Ana: She told me that we won the cup.",
        "Ben: I like my new job a lot.",
    ]


def test_of_an_agents_turns_in_a_row_the_last_one_tells_the_result() -> None:
    steps = [
        turn("Please mend the failing port test.", "User"),
        turn("I look at the failing test first.", "Assistant", "agent"),
        turn("The port was taken by staging.", "Assistant", "agent"),
        turn("I say this in another session.", "Assistant", "agent", conversation="d"),
    ]
    assert [one.why for one in all_statements(steps)] == [None, "working step", None, None]
