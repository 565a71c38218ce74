"""Several answers in one text, and how often acts were wrong, in words (issue 22, part 2)."""

from __future__ import annotations

import pytest

from wellkept.core.asking.answer_list import MOST, answers_in
from wellkept.core.asking.error_rate import in_words
from wellkept.core.asking.question_text import opinion_words
from wellkept.errors import InvalidAnswer
from wellkept.types import Chance


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("q17 replaces 1", [("q17", "replaces 1")]),
        ("  Q17   repeats 2 and replaces 1 ; q18 new\n\nq19 keep both 1;", [
            ("q17", "repeats 2 and replaces 1"), ("q18", "new"), ("q19", "keep both 1"),
        ]),
        ("q1 what it says is not looked at", [("q1", "what it says is not looked at")]),
    ],
)  # fmt: skip
def test_each_part_names_a_question_and_its_answer(text: str, found: list[tuple[str, str]]) -> None:
    assert list(answers_in(text)) == found


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "nothing"),
        (" ; \n ", "nothing"),
        ("replaces 1", "'replaces' is no question"),
        ("17 replaces 1", "'17' is no question"),
        ("q0 new", "'q0' is no question"),
        ("q17", "q17 has no answer"),
        ("q17 new; q18", "q18 has no answer"),
        ("q17 new; Q17 repeats 1", "q17 is answered twice"),
        (";".join(f"q{number} new" for number in range(1, MOST + 2)), f"more than {MOST}"),
        ("q" + "9" * 100_000 + " new", "is no question"),
    ],
)
def test_a_text_that_cannot_be_read_says_which_part_and_what_was_expected(text: str, what: str) -> None:
    with pytest.raises(InvalidAnswer) as raised:
        answers_in(text)
    assert what in str(raised.value) and "q17 replaces 1; q18 new" in str(raised.value)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("act", "wrong", "checked", "said"),
    [
        ("fold", 1, 60, "of 60 folds checked 1 was wrong: 1.7 %, 95 % interval 0.04 to 8.9 %"),
        ("fold", 0, 50, "of 50 folds checked none was wrong: 0 %, 95 % interval 0 to 7.1 %"),
        ("mark", 3, 30, "of 30 marks checked 3 were wrong: 10 %, 95 % interval 2.1 to 26.5 %"),
        ("mark", 1, 1, "of 1 mark checked 1 was wrong: 100 %, 95 % interval 2.5 to 100 %"),
    ],
)
def test_an_error_rate_is_told_with_its_interval(act: str, wrong: int, checked: int, said: str) -> None:
    """The bounds are those of Clopper and Pearson's tables."""
    assert in_words(act, wrong, checked) == said


@pytest.mark.parametrize(
    ("repeats", "replaces", "said"),
    [
        (0.0, 0.43, "0.43 that it replaces this"),
        (0.51, 0.07, "0.51 that it repeats this, 0.07 that it replaces this"),
        (0.049, 0.049, "probably about something else"),
    ],
)
def test_an_opinion_names_what_is_likely_and_nothing_else(repeats: float, replaces: float, said: str) -> None:
    assert opinion_words(Chance("a", repeats, replaces)) == said
