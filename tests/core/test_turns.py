"""Who speaks in a turn of a conversation, and what only looks like a speaker."""

from __future__ import annotations

import pytest

from wellkept.core.reading.chat_turns import speaker


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Caroline: I moved to Graz.", "caroline"),
        ("Ana Lopez: we won", "ana lopez"),
        ("User: what is the port?", "user"),
        ("Mel: Hey Caroline!", "mel"),
        ("Decision: we use Postgres.", ""),
        ("Port: 8080", ""),
        ("note to self: buy tea", ""),
        ("Chiara: io parto domani", "chiara"),
        ("Porta: 8080", ""),
        ("小林：我明天去北京", "小林"),
        ("端口：八千零八十", ""),
        ("The server is up.", ""),
        ("", ""),
    ],
)
def test_a_speaker_is_a_name_in_front_of_words_that_somebody_says(text: str, name: str) -> None:
    assert speaker(text) == name
