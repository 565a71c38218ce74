"""The default embedder: same answer in any batch, long and unreadable texts, broken installations."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from wellkept.core.records.vectors import cosine
from wellkept.errors import ModelUnavailable
from wellkept.models import minilm, multilingual, windows
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.mapped import WEIGHTS
from wellkept.models.minilm import WEIGHTS_SHA256, MiniLmEmbedder
from wellkept.models.port import Embedded, PartUnavailable
from wellkept.models.windows import MAX_WINDOWS

SENTENCES = [
    "Use PostgreSQL 15 for the billing service.",
    "The billing service should run on PostgreSQL 15.",
    "Marta is allergic to peanuts.",
    "tea",
    "Die Abnahme ist am Freitag um 16 Uhr, nicht am Donnerstag, und Herr Köhler bringt die Unterlagen mit.",
    "v1.5.2-rc1 of the gateway drops TLS 1.0; deploy it with `make ship` and watch the error rate for an hour.",
    "Le train part à huit heures.",
    "x = 3 * (y - 2)",
]


@pytest.fixture(scope="module")
def embedder():
    return MiniLmEmbedder()


def vectors(embedder, texts):
    return [answer.vector for answer in embedder.embed(texts)]


def test_a_vector_has_unit_length_and_the_declared_shape(embedder):
    for vector in vectors(embedder, SENTENCES):
        assert vector.shape == (embedder.dim,) == (384,)
        assert vector.dtype == np.float32
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-6)


def test_the_model_answers_as_its_makers_document(embedder):
    """Guards tokenizer, pooling and weights at once: .8939 is the documented value."""
    a, b = vectors(embedder, ["The new movie is awesome", "The new movie is so great"])
    assert cosine(a, b) == pytest.approx(0.8939, abs=0.01)


def test_a_text_has_the_same_vector_alone_and_in_any_batch(embedder):
    """I4."""
    texts = SENTENCES * 3 + ["a much longer text that pads its batch " * 20]
    together = vectors(embedder, texts)
    alone = [vectors(embedder, [text])[0] for text in texts]
    reversed_order = vectors(embedder, texts[::-1])[::-1]
    probe = alone[0]
    for one, many, back in zip(alone, together, reversed_order, strict=True):
        assert np.array_equal(one, many)
        assert np.array_equal(one, back)
        assert cosine(probe, one) == cosine(probe, many)


def test_order_is_kept_and_repeats_get_the_same_vector(embedder):
    long_first = ["one " * 100, "two", "one " * 100]
    first, second, third = vectors(embedder, long_first)
    assert np.array_equal(first, third)
    assert cosine(first, second) < 0.9


def test_no_texts_need_no_model(tmp_path):
    assert MiniLmEmbedder(tmp_path).embed([]) == []


@pytest.mark.parametrize(
    ("text", "chunks"),
    [("word", 1), ("word " * 254, 1), ("word " * 255, 2), ("word " * 508, 2), ("word " * 509, 3)],
)
def test_a_long_text_is_read_in_windows_of_256_pieces(embedder, text, chunks):
    """B-33: 254 pieces of text and two frame pieces to a window."""
    assert embedder.embed([text])[0].chunks == chunks


def test_every_part_of_a_long_text_counts(embedder):
    """B-33: a vector of the first window alone would not see the difference."""
    start = "The nightly backup writes to the second disk. " * 40
    a, b = vectors(embedder, [start + "Marta is allergic to peanuts. " * 40, start + "Interest rates rose. " * 40])
    assert cosine(a, b) < 0.98


def test_the_number_of_windows_is_bounded(embedder, monkeypatch):
    monkeypatch.setattr(windows, "MAX_WINDOWS", 3)
    assert embedder.embed(["word " * 2000])[0].chunks == 3
    assert MAX_WINDOWS * 254 >= 30_000


@pytest.mark.parametrize("text", ["", "  \n ", "...!?"], ids=["empty", "white space", "punctuation"])
def test_a_text_without_words_gets_no_vector(embedder, text):
    assert embedder.embed([text]) == [Embedded(None, spelled=True)]


@pytest.mark.parametrize(
    "text",
    ["🎉🎉", "k" * 130],
    ids=["emoji", "a long token"],
)
def test_a_text_the_vocabulary_cannot_spell_gets_the_vector_of_its_words(embedder, text):
    """B-34: of the network's own vectors two such texts would have cosine 1.0."""
    [answer], [of_words] = embedder.embed([text]), HashingEmbedder().embed([text])
    assert np.array_equal(answer.vector, of_words.vector)
    assert (answer.chunks, answer.spelled, answer.by_words) == (1, True, True)


def test_how_a_text_is_read_is_known_without_the_weights(embedder, tmp_path):
    texts = [*SENTENCES, "поезд уходит", "词", "ฉันชอบกาแฟไม่ใส่น้ำตาล", "k" * 130, "Done 🎉", "word " * 300]
    shutil.copy(WEIGHTS / multilingual.PIECES, tmp_path)
    without = MiniLmEmbedder(tmp_path)
    assert [without.about(text) for text in texts] == [replace(one, vector=None) for one in embedder.embed(texts)]


@pytest.mark.parametrize("text", ["Zug um 8", "поезд уходит в восемь", "15", "Done 🎉", "Café naïve", "a\ud800b"])
def test_a_text_that_can_be_spelled_gets_a_vector(embedder, text):
    assert embedder.embed([text])[0].vector is not None


def test_frame_pieces_written_in_a_text_are_only_text(embedder):
    """Untrusted text cannot end a window or pose as unknown."""
    (window,) = minilm._english_windows().of("a [SEP] b [UNK] [CLS]")
    assert (window[0], window[-1]) == (101, 102)
    assert not {100, 101, 102} & set(window[1:-1])


def test_threads_share_one_model(embedder):
    expected = vectors(embedder, SENTENCES)
    found: dict[int, list[np.ndarray]] = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: vectors(MiniLmEmbedder(), SENTENCES)})) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(np.array_equal(a, b) for answer in found.values() for a, b in zip(answer, expected, strict=True))


@pytest.mark.parametrize("method", ["check", "embed"])
def test_other_weights_than_the_known_ones_are_refused(tmp_path, method):
    weights = tmp_path / minilm.ENGLISH
    weights.write_bytes(b"something else")
    embedder = MiniLmEmbedder(tmp_path)
    with pytest.raises(ModelUnavailable, match="not the known ones") as caught:
        embedder.check() if method == "check" else embedder.embed(["tea"])
    assert str(weights) in str(caught.value)
    assert WEIGHTS_SHA256[:12] in caught.value.what
    assert "Reinstall" in caught.value.todo


def test_missing_weights_are_an_error_that_names_the_file(tmp_path):
    with pytest.raises(ModelUnavailable, match=minilm.ENGLISH):
        MiniLmEmbedder(tmp_path).embed(["tea"])


def test_a_missing_runtime_is_an_error_that_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    minilm._load.cache_clear()
    with pytest.raises(ModelUnavailable, match="onnxruntime"):
        MiniLmEmbedder().embed(["tea"])


def test_a_model_that_fails_to_run_is_unavailable_and_nothing_else(embedder, monkeypatch):
    """I7: the engine stores the memory unchecked on a `ModelError` only."""
    embedder.embed(["warm"])
    model = minilm._load(WEIGHTS, minilm.ENGLISH, os.getpid())

    class Broken:
        def run(self, *_):
            raise RuntimeError("out of memory")

    monkeypatch.setattr(model, "_session", Broken())
    with pytest.raises(ModelUnavailable, match="failed to run"):
        embedder.embed(["tea"])


# --------------------------------------------------------------------------------------------
# Other languages

SAME = {
    "rent": [
        "The rent is 900 euros.",
        "Die Miete beträgt 900 Euro.",
        "Аренда стоит 900 евро.",
        "房租是900欧元。",
        "家賃は900ユーロです。",
    ],
    "train": [
        "The train leaves at eight.",
        "Der Zug fährt um acht ab.",
        "Поезд отправляется в восемь.",
        "火车八点开。",
        "電車は八時に出ます。",
    ],
}


def test_texts_that_say_the_same_are_near_each_other_in_any_two_languages(embedder):
    rent, train = (vectors(embedder, texts) for texts in SAME.values())
    alike = [cosine(a, b) for texts in (rent, train) for a in texts for b in texts if a is not b]
    apart = [cosine(a, b) for a in rent for b in train]
    assert min(alike) > max(apart) + 0.1


def test_a_question_finds_its_answer_in_another_language(embedder):
    known = vectors(embedder, [*SAME["rent"], *SAME["train"]])
    for question in ("Wie hoch ist die Miete?", "How much is the rent?", "租金多少？", "Сколько стоит аренда?"):
        [asked] = vectors(embedder, [question])
        nearest = sorted(range(len(known)), key=lambda place: -cosine(asked, known[place]))
        assert set(nearest[:3]) <= set(range(len(SAME["rent"]))), question


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("поезд уходит в восемь", False),
        ("房租是900欧元。", False),
        ("القطار يغادر في الثامنة", False),
        ("ฉันชอบกาแฟไม่ใส่น้ำตาล", True),
    ],
    ids=["Russian", "Chinese", "Arabic", "Thai"],
)
def test_no_act_follows_from_similarity_in_a_script_in_which_it_was_not_measured(embedder, text, spelled):
    [found] = embedder.embed([text])
    assert (found.vector is not None, found.spelled, found.by_words) == (True, spelled, False)


@pytest.mark.parametrize("name", [minilm.OTHER, multilingual.PIECES, multilingual.VECTORS])
def test_english_is_read_where_the_files_for_other_languages_are_damaged(tmp_path, name):
    for file in (minilm.ENGLISH, minilm.OTHER, multilingual.PIECES, multilingual.VECTORS):
        shutil.copy(WEIGHTS / file, tmp_path)
    (tmp_path / name).write_bytes(b"something else")
    broken = MiniLmEmbedder(tmp_path)
    broken.check()
    assert broken.embed(["Tea at four."])[0].vector is not None
    with pytest.raises(PartUnavailable, match="not the known ones|cannot be read") as caught:
        broken.embed(["Tea at four.", "Tee um vier Uhr.", "Lunch at one."])
    assert caught.value.places == {1}
    (tmp_path / name).unlink()
    with pytest.raises(ModelUnavailable, match=name):
        MiniLmEmbedder(tmp_path).check()
