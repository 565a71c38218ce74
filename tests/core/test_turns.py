"""Who speaks in a turn of a conversation, and what only looks like a speaker."""

from __future__ import annotations

import pytest

from wellkept.core.reading.chat_turns import is_spoken, reported_question, seeks, speaker


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana: on my way", True),
        ("(1:56 pm on 8 May, 2023) Ana: on my way", True),
        ("[2026-01-04 10:12] Ana: on my way", True),
        ("(draft) The server is up.", False),
        ("[[Ana]] is on her way", False),
        ("The server is up.", False),
        ("(" * 5000, False),
    ],
)
def test_a_turn_has_its_speaker_in_front_perhaps_behind_a_stamp(text: str, *, expected: bool) -> None:
    assert is_spoken(text) is expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Who signs the invoices?", True),
        ("who signs the invoices", True),
        ("wer unterschreibt die Rechnungen", True),
        ("quién firma las facturas", True),
        ("qui signe les factures", True),
        ("кто подписывает счета", True),
        ("谁负责账单", True),
        ("請求書は誰が払う", True),
        ("wer zahlt", True),
        ("wo parken", True),
        ("chi paga", True),
        ("quem paga", True),
        ("signatures on invoices", False),
        ("come together", False),
        ("Rechnungen unterschreiben", False),
        ("the invoice that Ana signs", False),
        ("账单", False),
        ("", False),
    ],
)
def test_a_query_asks_by_its_mark_or_by_an_interrogative(query: str, *, expected: bool) -> None:
    assert seeks(query) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tom asked whether the office closes.", True),
        ("Not sure if the office closes.", True),
        ("Tom asked me if the office closes.", True),
        ("We don't know yet if the office closes.", True),
        ("Tom fragte, ob das Büro schließt.", True),
        ("Tom preguntó si la oficina cierra.", True),
        ("On ne sait pas s'il ferme à six heures.", True),
        ("Tom ha chiesto se l'ufficio chiude.", True),
        ("O Tom perguntou se o escritório fecha.", True),
        ("Том спросил, закрывается ли офис.", True),
        ("有人问办公室是否关门。", True),
        ("オフィスが閉まるかどうか聞いた。", True),
        ("Tom asked whether the office closes. It does.", False),
        ("Tom asked whether it closes; it does.", False),
        ("Since guests asked whether it closes, it stays open now.", False),
        ("When asked if refunds are possible, say thirty days.", False),
        ("有人问会议是否三点开始，小林说是。", False),
        ("Tom asked whether the office closes " + "on the days " * 40, False),
        ("The office closes if it rains.", False),
        ("The office closes whether or not it rains.", False),
        ("The script checks whether the lock file exists.", False),
        ("Let Ana know if the deploy fails.", False),
        ("The form asks if the guest has an allergy.", False),
        ("Der OB entscheidet, ob das Büro schließt.", False),
        ("Её OB отвечает вряд ли.", False),
        ("会议能否三点开始由小林决定。", False),
        ("他问题不大。", False),
        ("Wenn es regnet, schließt das Büro.", False),
        ("", False),
    ],
)
def test_a_statement_reports_a_question_where_it_says_nothing_else(text: str, *, expected: bool) -> None:
    assert bool(reported_question(text)) is expected
