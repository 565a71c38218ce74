"""The runner of console blocks: a document with wrong output must fail."""

from __future__ import annotations

import pytest

from console_blocks import Command, difference, parse, settle


def test_a_block_is_split_into_commands_with_their_output_and_exit_code() -> None:
    block = "$ wellkept remember \\\n    'one'\nCreated.\n\n$ wellkept conflicts  # exit 3\n$ wellkept stats\n"
    assert parse(block) == [
        Command("wellkept remember      'one'", "Created.", 0),
        Command("wellkept conflicts", "", 3),
        Command("wellkept stats", "", 0),
    ]


@pytest.mark.parametrize(
    ("documented", "printed"),
    [
        ("Created 0197b2c4-11d2-7abc-8def-001122334455.", "Created 0198ffff-2222-7abc-8def-aabbccddeeff."),
        ("at 2026-01-02T03:04:05.678+00:00", "at 2027-11-12T13:14:15+00:00"),
        ("on 2026-01-02", "on 2027-11-12"),
        ("took 12 ms", "took 1.5 s"),
        ("id 0197b2c4", "id 01aa00ff"),
        ("a   table\n  of two lines", "a table\nof two lines"),
        ("first\n...\nlast", "first\nsecond\nthird\nlast"),
    ],
)
def test_what_differs_from_run_to_run_is_no_difference(documented: str, printed: str) -> None:
    assert difference(Command("wellkept x", documented, 0), printed, 0) == ""


@pytest.mark.parametrize(
    ("documented", "printed", "exit_code"),
    [
        ("Created.", "Duplicate.", 0),
        ("threshold 0.85", "threshold 0.95", 0),
        ("version 1.5", "version 15", 0),
        ("two rows", "", 0),
        ("Created.", "Created.", 1),
        ("", "Traceback", 1),
    ],
)
def test_a_document_that_says_something_else_fails(documented: str, printed: str, exit_code: int) -> None:
    assert difference(Command("wellkept x", documented, 0), printed, exit_code)


@pytest.mark.parametrize("word", ["deadline", "feedback", "0.9712", "12345", "+5%", "S0-12"])
def test_ordinary_words_and_numbers_are_compared_as_they_are(word: str) -> None:
    assert settle(word) == word
