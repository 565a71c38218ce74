"""The lexical fallback: every script, the same everywhere, fast."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from wellkept.core.records.vectors import cosine, quantise
from wellkept.models.hashing import HashingEmbedder

EMBEDDER = HashingEmbedder()


def pair(a: str, b: str) -> float:
    left, right = EMBEDDER.embed([a, b])
    return cosine(left.vector, right.vector)


@pytest.mark.parametrize(
    ("text", "alike", "unlike"),
    [
        ("The deploy runs at night", "Deploys run every night", "Marta eats fish"),
        ("поезд уходит в восемь", "поезд ушёл в восемь", "я люблю кофе без сахара"),
        ("火车八点出发", "火车九点出发", "我喜欢不加糖的咖啡"),
        ("列車は八時に出発する", "列車は九時に出発した", "砂糖なしのコーヒーが好きだ"),
        ("القطار يغادر في الساعة الثامنة", "يغادر القطار الساعة الثامنة", "أحب قهوتي بدون سكر"),
        ("รถไฟออกแปดโมง", "รถไฟออกเก้าโมง", "ฉันชอบกาแฟไม่ใส่น้ำตาล"),
        ("기차는 여덟 시에 출발한다", "기차가 여덟 시에 출발했다", "나는 설탕 없는 커피를 좋아한다"),
    ],
)
def test_texts_that_share_words_are_closer_than_texts_that_do_not_in_every_script(text, alike, unlike):
    """I10."""
    assert pair(text, alike) > pair(text, unlike) + 0.2


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Tea at four.", "tea  at\nFOUR"),
        ("Straße", "STRASSE"),
        ("Ｎｏｄｅ２０", "node20"),
        ("caf\u0065\u0301", "café"),
    ],
)
def test_case_width_and_final_punctuation_do_not_count(a, b):
    assert pair(a, b) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("a", "b"), [("limit 1.5", "limit 15"), ("use C++", "use C"), ("port 8080", "port 9090"), ("gain -3", "gain 3")]
)
def test_signs_that_carry_meaning_make_a_difference(a, b):
    """I10."""
    assert pair(a, b) < 0.98


@pytest.mark.parametrize("text", ["", "  \n", "...", "— ! ?"])
def test_a_text_without_a_word_gets_no_vector(text):
    assert EMBEDDER.embed([text])[0].vector is None


def test_a_vector_has_unit_length_and_the_declared_shape():
    vector = EMBEDDER.embed(["one two two"])[0].vector
    assert vector.shape == (EMBEDDER.dim,)
    assert vector.dtype == np.float32
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-6)


def test_the_batch_does_not_change_a_vector():
    """I4."""
    texts = ["tea at four", "coffee at five", "x" * 500, "火车"]
    for alone, together in zip(texts, EMBEDDER.embed(texts), strict=True):
        assert np.array_equal(EMBEDDER.embed([alone])[0].vector, together.vector)


def test_another_process_gives_the_same_vector():
    """I4: nothing depends on the seed of Python's own hash."""
    program = (
        "import sys; from wellkept.core.records.vectors import quantise; "
        "from wellkept.models.hashing import HashingEmbedder;"
        "sys.stdout.write(quantise(HashingEmbedder().embed(['Zug um 8 — 火车'])[0].vector).hex())"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert answers == {quantise(EMBEDDER.embed(["Zug um 8 — 火车"])[0].vector).hex()}


def test_it_says_that_it_is_lexical():
    """I7: nothing may be skipped on its word."""
    assert EMBEDDER.lexical
    assert "hashing" in EMBEDDER.id
