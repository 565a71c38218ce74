"""Excerpts for reports: short, on one line, without what looks like a secret, in several languages (S1-16)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.text.redaction import LIMIT, redacted, without_secrets


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Mail ana@example.org today", "ana@"),
        ("ana.b+c@mail.example.co.uk", "example"),
        ("See https://ana:hunter2@example.org/x", "hunter2"),
        ("the password is hunter2", "hunter2"),
        ("the password for the old router is hunter2", "hunter2"),
        ("PASSWORD=hunter2", "hunter2"),
        ("API key: abc-123", "abc-123"),
        ("api_key=abc", "abc"),
        ("The PIN is 4711", "4711"),
        ("token: xyzzy", "xyzzy"),
        ("Das Passwort lautet geheim", "geheim"),
        ("mot de passe : azerty", "azerty"),
        ("la contraseña es perro", "perro"),
        ("пароль: йцукен", "йцукен"),
        ("密码是 abc123", "abc123"),
        ("パスワードは abc です", "abc"),
        ("비밀번호는 abc", "abc"),
        ("key sk-a1b2c3d4e5f6g7h8i9j0", "sk-a1b2"),
        ("run --sk-a1b2c3d4e5f6g7h8i9j0", "sk-a1b2"),
        ("card 4111 1111 1111 1111", "1111 1111"),
        ("call +49 170 1234567", "1234567"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, secret: str) -> None:
    assert secret in text and secret not in redacted(text)


@pytest.mark.parametrize(
    "text",
    ["The release is on 2026-03-01.", "Pinned notes stay.", "Use port 8080.", "We pass the salt.", "数据库在东京。",
     "Version 1.5.2 of C++", "Secretary Ana leads billing.", "टीम सोमवार को मिलती है।"],
)  # fmt: skip
def test_what_is_none_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


def test_nothing_is_drawn_in_that_nobody_has_looked_at() -> None:
    """A redaction at the beginning must not move half of a key at the limit into the excerpt."""
    text = "x@example.org " * 60 + "sk-a1b2c3d4e5f6g7h8i9j0k1l2m3n4"
    for cut in range(len(text) - 40, len(text)):
        assert "sk-" not in redacted(text[:cut]) or "[key]" in redacted(text[:cut])
        assert "@" not in redacted(text[:cut])


def test_control_and_direction_characters_do_not_pass() -> None:
    hostile = "a\x1b[31mred\x1b[0m\r\nb\u202ec\u2066d\u200be\x00f\u2028g\ufeffh"
    assert redacted(hostile).isprintable()


@given(text=st.text(max_size=400), times=st.integers(1, 400))
def test_it_is_short_and_on_one_line_whatever_is_put_in(text: str, times: int) -> None:
    out = redacted(text * times)
    assert len(out) <= LIMIT
    assert "\n" not in out and "\r" not in out


@pytest.mark.parametrize("part", ["a.a", "password ", "a:", "1 ", "x@", "пароль ", "sk-1a"])
def test_a_text_of_ten_million_characters_takes_no_longer_than_a_short_one(part: str) -> None:
    """No expression looks at more than a few hundred characters."""
    text = part * (10_000_000 // len(part))
    assert len(redacted(text)) <= LIMIT


@pytest.mark.parametrize(
    "part",
    ["a-", "1-", "a-1-", "-", "pass-", "a.", "x@a.", "://a:", "password ", "password=", "key a/", "密码", "пароль "],
)
def test_secrets_are_looked_for_in_linear_time(part: str) -> None:
    started = time.process_time()
    without_secrets(part * (200_000 // len(part)))
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "name", ["P\u0130N", "p\u0131n", "PA\u017f\u017fWORD", "TO\u212aEN", "\u041f\u0410\u0420\u041e\u041b\u042c"]
)
def test_no_spelling_of_a_name_hides_a_secret(name: str) -> None:
    assert "1234" not in redacted(f"My {name}: 1234")


def test_a_long_run_of_words_with_a_digit_is_a_key_from_end_to_end() -> None:
    assert without_secrets(f"It is {'a-' * 100_000}1.") == "It is [key]."
