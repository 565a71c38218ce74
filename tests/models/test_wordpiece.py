"""Our WordPiece against the package `tokenizers`: the same pieces at the same places, whatever the text.

`tokenizers` is a dependency of the tests alone.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from growth import too_slow
from wellkept.errors import ModelUnavailable
from wellkept.models import relation
from wellkept.models.tokenizer.bert_folding import TABLE_SHA256, folding
from wellkept.models.tokenizer.data_files import DATA, unpacked
from wellkept.models.tokenizer.wordpiece import LONGEST_WORD, VOCABULARY_SHA256, Encoding, Tokenizer, minilm_pieces

ROOT = Path(__file__).parents[2]


def vocabulary() -> dict[str, int]:
    """The larger one, of the relation model: MiniLM's and the pieces that were added to it."""
    pieces = minilm_pieces()
    for piece in relation._settings(relation.WEIGHTS)["pieces"]:
        pieces[piece] = len(pieces)
    return pieces


def reference(pieces: dict[str, int]) -> Callable[[str], Encoding]:
    made = tokenizers.Tokenizer(WordPiece(dict(pieces), unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, lowercase=True)
    made.pre_tokenizer = BertPreTokenizer()

    def encode(text: str) -> Encoding:
        found = made.encode(text, add_special_tokens=False)
        return Encoding(found.ids, found.offsets, found.word_ids)

    return encode


PIECES = vocabulary()
OURS = Tokenizer(PIECES)
THEIRS = staticmethod(reference(PIECES))


def assert_alike(texts: Iterable[str]) -> None:
    for text in texts:
        assert OURS.encode(text) == THEIRS(text), ascii(text)


def blocks(*ranges: tuple[int, int], step: int = 1) -> Iterator[str]:
    """Each character, or every step-th one, inside of a word, and as a word: a hundred of them a text."""
    points = [point for first, last in ranges for point in range(first, last, step) if not 0xD800 <= point < 0xE000]
    for start in range(0, len(points), 100):
        yield "".join(f"a{chr(point)}b {chr(point)} " for point in points[start : start + 100])


# --------------------------------------------------------------------------------------------
# Exactness


def test_every_character_of_the_commonest_scripts_is_read_alike_and_a_sample_up_to_the_emoji() -> None:
    assert_alike(blocks((0, 0x1200)))
    ranges = (0x1200, 0x3400), (0x4E00, 0x4F00), (0x9F00, 0xAC80), (0xD700, 0xE100), (0xF8F0, 0x20000)
    assert_alike(blocks(*ranges, step=7))


@pytest.mark.soak
def test_every_assigned_character_is_read_alike_and_a_sample_of_the_others() -> None:
    assert_alike(blocks((0, 0x32400), (0xE0000, 0xE0200), (0xFFF00, 0x100100), (0x10FF00, 0x110000)))
    assert_alike(blocks(*((start, start + 10) for start in range(0x32400, 0x110000, 1_000))))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\r\n\u3000\u2028",
        "Ünïcödé DŽ İstanbul ısırık ΣΊΣΥΦΟΣ ſtraße ẞ",
        "don't stop-believin' e.g. v1.5.2-rc1 a_b [SEP] [UNK] ##ing [CLS]",
        "\x00a\x00b\x0bc\x0cd\x7fe\x85f\u200bg\u200dh\ufeffi\u2060j\ufffdk",
        "e\u0301\u0327 \u0301e \u0301 \u0344 \u0f73\u0f71",
        "q\u08d4\u0323\u0334x \u302e각\u0323\u302f 각난 가나",
        "\U0001d15e\U0001d15f\u0334 \U0001d1bb\u0323a",
        "≠ ≮ \u037e \u0387 \u1fef \u212b \u2126 \u212a",
        "漢字かな交じり文。豈更 㐀 𠀀𪜀 ﾊﾝｶｸ ﷽",
        "👩‍👩‍👧‍👦 🏽 🇩🇪 ☺️ 😀text",
        "ༀ ྲཱྀ ক্ষ কো ഔ ො ဣ ไทยไม่มีวรรค ភាសា",
        "ש\u05c1 שלום القرآن ۛ\u08d5 \u0650\u064b",
        "\ue000\U000f0000a\U0010fffd \U000e0001\U000e0041",
        "x" * LONGEST_WORD,
        "x" * (LONGEST_WORD + 1),
        "각" * 33 + "가" + " " + "각" * 33 + "가가",
        "é" * 101 + "\u0301" * 200,
    ],
)
def test_awkward_texts_are_read_alike(text: str) -> None:
    assert_alike([text, f"a{text}", f"{text}b", text + text])


def mixtures(count: int, seed: int) -> Iterator[str]:
    """Random texts of characters that take different ways through the table."""
    table = folding()
    pools = [
        sorted(table._classes), sorted(table._sorted), sorted(table._forms), sorted(table._removed),
        [chr(point) for point in range(0x250)], "aeiou  ", "!?.,;:-()[]#'", "漢字かな。、각힣가", "😀🏽\u200d\ufe0f",
        [chr(point) for point in range(0x300, 0x370)], [chr(point) for point in range(0x10000, 0x1FFFF, 7)],
    ]  # fmt: skip
    chosen = random.Random(seed)
    for _ in range(count):
        some = chosen.choices(pools, k=3)
        yield "".join(chosen.choice(chosen.choice(some)) for _ in range(chosen.choice((3, 8, 30))))


def test_random_mixtures_are_read_alike() -> None:
    assert_alike(mixtures(4_000, seed=14))


@pytest.mark.soak
def test_many_random_mixtures_are_read_alike() -> None:
    assert_alike(mixtures(60_000, seed=15))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_read_alike(text: str) -> None:
    assert_alike([text])


def test_the_graded_pairs_and_the_documents_are_read_alike() -> None:
    for path in (DATA / "graded_pairs.jsonl", ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        assert_alike(path.read_text("utf-8").splitlines())


@pytest.mark.parametrize("step", [pytest.param(40, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.soak)])
def test_the_texts_of_the_repository_are_read_alike(step: int) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    paths = [ROOT / name for name in listed if name] or [*ROOT.glob("training/*/*"), *ROOT.glob("*.md")]
    texts = [path for path in paths if path.suffix in {".md", ".jsonl"}]
    assert len(texts) > 50
    for path in texts:
        assert_alike(path.read_text("utf-8").splitlines()[::step])


@pytest.mark.soak
def test_the_table_of_characters_is_what_tokenizers_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from training import characters

    assert json.loads(gzip.decompress(characters.TABLE.read_bytes())) == characters.table()


# --------------------------------------------------------------------------------------------
# Cost


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "ab ", "!", "漢", "각", "é", "a\u0301", "\u0301", "q\u08d4\u0323", "😀", "\x00", "привет мир "),
        "xyz" * 33 + " ",
    ],
    ids=lambda unit: ascii(unit)[1:12],
)
def test_the_time_grows_as_the_text_does(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        OURS._remembered.cache_clear()
        began = time.process_time()
        OURS.encode(text)
        return time.process_time() - began

    assert too_slow(seconds, 16_000, 64_000, 2.6**2) == ""


@pytest.mark.soak
def test_sentences_cost_less_than_with_tokenizers() -> None:
    """Once their words are known; the first time they cost about the same."""
    rows = [json.loads(line) for line in (DATA / "graded_pairs.jsonl").read_text("utf-8").splitlines()]
    sentences = [row[side] for row in rows for side in ("a", "b")]
    assert len(sentences) > 1_000

    def seconds(encode: Callable[[str], Encoding]) -> float:
        taken = []
        for _ in range(5):
            began = time.process_time()
            for sentence in sentences:
                encode(sentence)
            taken.append(time.process_time() - began)
        return min(taken)

    assert seconds(OURS.encode) < seconds(THEIRS)


def test_long_words_are_not_remembered_and_the_others_are_bounded() -> None:
    ours = Tokenizer(PIECES)
    ours.encode("x" * 33)
    assert ours._remembered.cache_info().currsize == 0
    ours.encode(" ".join(f"a{number:x}" for number in range(20_000)))
    assert ours._remembered.cache_info().currsize == ours._remembered.cache_info().maxsize == 8_192


def test_threads_share_one_tokenizer() -> None:
    texts = list(mixtures(300, seed=3))
    expected = [THEIRS(text) for text in texts]
    ours = Tokenizer(PIECES)
    found: dict[int, list[Encoding]] = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: [ours.encode(text) for text in texts]})) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[number] == expected for number in range(4)] == [True] * 4


# --------------------------------------------------------------------------------------------
# Its files


@pytest.mark.parametrize(
    ("name", "sha256"),
    [("minilm-vocab.txt.gz", VOCABULARY_SHA256), ("characters.json.gz", TABLE_SHA256)],
    ids=["vocabulary", "characters"],
)
@pytest.mark.parametrize(
    "harm",
    [lambda blob: blob[:-9], lambda blob: b"", lambda blob: gzip.compress(gzip.decompress(blob) + b" "), None],
    ids=["cut short", "empty", "changed", "deleted"],
)
def test_a_damaged_file_is_an_error_that_names_it(
    tmp_path: Path, name: str, sha256: str, harm: Callable[[bytes], bytes] | None
) -> None:
    path = tmp_path / name
    if harm is not None:
        path.write_bytes(harm((DATA / name).read_bytes()))
    with pytest.raises(ModelUnavailable) as caught:
        unpacked(path, sha256)
    assert (caught.value.where, caught.value.todo) == (str(path), "Reinstall wellkept")
    assert unpacked(DATA / name, sha256)
