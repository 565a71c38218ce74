"""The time stamp of a line and the text of the line (S2-15, I2)."""

from __future__ import annotations

import pytest

from wellkept.core.text.time_stamps import without_stamp

SAID = "Ana: I moved to Oslo."


@pytest.mark.parametrize(
    "stamp",
    [
        "(1:56 pm on 8 May, 2023) ", "[2023-05-08 13:56] ", "[13:56] ", "(2 pm) - ", "(14.30 Uhr) ", "(14.30h): ",
        "【2023年5月8日】", "（13:56）：", "2023-05-08 ", "2023-05-08T13:56:00Z ", "2023/5/8 13:56: ",
    ],
)  # fmt: skip
def test_a_time_at_the_beginning_of_a_line_is_taken_off(stamp):
    assert without_stamp(stamp + SAID) == SAID


@pytest.mark.parametrize(
    "text",
    [
        "[v2.10] The port is 80.", "(3.50) is the price.", "[1.25x] is the speed.", "(§ 12.34) holds.", "(draft) Text.",
        "[1:500] is the scale.", "Ana (13:56): I moved.", "2023-05-08", "(13:56)", "12 May: we moved.", "",
    ],
)  # fmt: skip
def test_a_version_an_amount_or_a_line_of_nothing_else_stays(text):
    assert without_stamp(text) == text


@pytest.mark.parametrize("text", ["(" * 10**6, "(2023" + " " * 10**6, "2023-05-08" + " " * 10**6, "[" + "1" * 10**6])
def test_a_hostile_beginning_is_left_alone(text):
    """Only the first letters are looked at, however long the line is."""
    assert without_stamp(text) == text
