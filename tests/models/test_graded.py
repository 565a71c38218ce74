"""The graded pairs that define the scale, and how embedders are measured against them (B-1, B-30)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from wellkept.core.judging.calibration import HASHING, MINILM, THRESHOLDS, UNCALIBRATED
from wellkept.core.records.vectors import cosine
from wellkept.core.text.forms import canonical, embed_text
from wellkept.errors import InvalidField, ModelResponseInvalid, ModelUnavailable
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.port import Embedded, Embedder
from wellkept.models.similarity.graded import GradedSet, Measured, measure, read, shipped

EMBEDDERS = (MiniLmEmbedder(), HashingEmbedder())
WEEKENDS = "Never trade during low-volume weekends"
AVOID = "Avoid trading on weekends when volume is low"
REFINED = "Never trade during low-volume weekends UNLESS funding is extremely negative"
LESSON = embed_text(
    kind="lesson", title="Never trade weekends", summary="", content="Low volume weekends increase slippage risk"
)
ASKED = embed_text(
    kind="lesson",
    title="Avoid weekend trading",
    summary="",
    content="Weekend trading is risky due to low volume and slippage",
)


@pytest.fixture
def minilm() -> MiniLmEmbedder:
    return EMBEDDERS[0]


def similarity(embedder: Embedder, a: str, b: str) -> float:
    left, right = embedder.embed([a, b])
    assert left.vector is not None and right.vector is not None
    return embedder.calibration.similarity(cosine(left.vector, right.vector))


# -- where the sources' own examples land ------------------------------------------------------


def test_two_ways_to_say_it_are_duplicate_or_connect_under_minilm(minilm):
    """S0-49: .90 to .96."""
    assert 0.90 <= similarity(minilm, WEEKENDS, AVOID) <= 0.96


def test_the_quick_check_finds_the_stored_lesson_under_minilm(minilm):
    """S0-53: `duplicate_found` or `similar_found`."""
    assert similarity(minilm, LESSON, ASKED) >= 0.90


def test_a_refinement_lies_below_the_duplicate_band_under_minilm(minilm):
    """S0-50: connect or unique; rules veto it besides."""
    assert similarity(minilm, WEEKENDS, REFINED) < 0.95


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The deploy job needs a token.", "Grandma's soup has leeks in it."),
        ("Invoices are due in 30 days.", "The parrot can say three words."),
    ],
)
def test_unrelated_statements_lie_near_nothing_under_minilm(minilm, a, b):
    assert similarity(minilm, a, b) < 0.3


def test_none_of_the_examples_is_among_the_pairs_that_made_the_scale():
    """Otherwise their place would prove nothing."""
    known = {canonical(text) for text in shipped().texts}
    assert not known & {canonical(text) for text in (WEEKENDS, AVOID, REFINED, LESSON, ASKED)}


# -- the set -----------------------------------------------------------------------------------


def test_the_set_covers_the_scale_and_the_languages():
    pairs = shipped().pairs
    languages = Counter(pair.lang for pair in pairs)
    assert len(pairs) >= 520
    assert len(pairs) - languages["en"] >= 160
    assert {"de", "fr", "es", "pt", "ru", "zh", "ja", "ko", "it", "pl", "xx"} <= set(languages)
    assert sum(pair.grade > 0.6 for pair in pairs) >= 250
    shares = Counter(int(pair.grade * 10) for pair in pairs)
    assert all(shares[tenth] >= 8 for tenth in range(10))


def test_no_pair_stands_twice_and_none_is_compared_with_itself():
    pairs = [frozenset((canonical(pair.a), canonical(pair.b))) for pair in shipped().pairs]
    assert max(Counter(pairs).values()) == 1
    assert all(pair.a != pair.b for pair in shipped().pairs)


@cache
def measured(embedder: Embedder) -> Measured:
    return measure(embedder.id, embedder.embed, shipped())


@pytest.mark.parametrize(
    ("embedder", "table", "least", "apart"),
    [(EMBEDDERS[0], MINILM, 0.8, 0.008), (EMBEDDERS[1], HASHING, 0.0, 0.004)],
    ids=["minilm", "hashing"],
)
def test_the_built_in_tables_are_the_fit_on_the_shipped_pairs(embedder, table, least, apart):
    """A changed pair needs new tables: `python benchmarks/calibrate.py` prints them.

    MiniLM's was fitted while it read other languages too. What lies below any act stays, for `min_score` rests on it.
    """
    found = measured(embedder)
    assert table.name.endswith(shipped().hash)
    assert 20 <= len(table.knots) <= 40
    for at in THRESHOLDS:
        assert at < least or found.calibration.cosine(at) == pytest.approx(table.cosine(at), abs=apart)
    assert found.error.share <= 0.02


# -- measuring ---------------------------------------------------------------------------------


class Odd:
    """An embedder with a fault of its own."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.inner = HashingEmbedder()
        self.asked = 0

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        self.asked += len(texts)
        good = self.inner.embed(texts)
        match self.fault:
            case "blind":
                return [Embedded(None) for _ in texts]
            case "constant":
                return [self.inner.embed(["always the same"])[0] for _ in texts]
            case "deaf to pairs":
                return self.inner.embed([text[::-1] + str(hash_of(text)) * 9 for text in texts])
            case "spells Latin":
                return [Embedded(one.vector, spelled=text.isascii()) for one, text in zip(good, texts, strict=True)]
            case "down":
                raise ModelUnavailable("no answer")
            case _:
                return good


def hash_of(text: str) -> int:
    return sum(place * ord(sign) for place, sign in enumerate(text, start=1))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("blind", ModelResponseInvalid),
        ("constant", ModelResponseInvalid),
        ("deaf to pairs", ModelResponseInvalid),
        ("down", ModelUnavailable),
    ],
)
def test_an_embedder_that_says_nothing_about_the_pairs_gets_no_table(fault, error):
    with pytest.raises(error):
        measure("odd/1", Odd(fault).embed, shipped())


def test_each_text_is_sent_once_and_progress_is_told():
    odd, told = Odd(""), []
    measure("odd/1", odd.embed, shipped(), progress=lambda part, whole: told.append((part, whole)))
    count = len(shipped().texts)
    assert odd.asked == count
    assert told[-1] == (count, count) and len(told) == -(-count // 64)


def test_pairs_that_are_only_spelled_or_whose_language_is_not_told_apart_do_not_count():
    """B-34: the default embedder reads all of them; across languages what says the same is not near enough."""
    found = measured(EMBEDDERS[0])
    assert set(found.left_out) == {"xx"}
    assert "xx" in measured(EMBEDDERS[1]).left_out
    assert found.pairs + sum(found.left_out.values()) == len(shipped().pairs)
    assert measure("odd/1", Odd("spells Latin").embed, shipped()).left_out["en"] > 300


def test_the_name_of_a_table_tells_embedder_and_pairs():
    assert measure("odd/1", Odd("").embed, shipped()).calibration.name == f"odd/1/{shipped().hash}"
    assert UNCALIBRATED.name == "uncalibrated"


# -- pairs of one's own ------------------------------------------------------------------------


def lines(count: int) -> str:
    return "\n".join(json.dumps({"a": f"text {n}", "b": f"word {n}", "grade": n / count}) for n in range(count))


def test_a_file_of_ones_own_is_read_and_has_a_hash_of_its_own(tmp_path: Path):
    file = tmp_path / "own.jsonl"
    file.write_text(lines(120), "utf-8")
    found = read(file)
    assert (len(found.pairs), found.shipped, found.pairs[0].lang) == (120, False, "")
    assert isinstance(found, GradedSet) and found.hash != shipped().hash and shipped().shipped


@pytest.mark.parametrize(
    ("last", "what", "place"),
    [
        ("nonsense", "not a JSON object", "line 121"),
        ("[1]", "not a JSON object", "line 121"),
        ("[" * 100_000, "not a JSON object", "line 121"),
        ('{"a": "x", "b": "", "grade": 0.5}', "must be texts", "line 121"),
        ('{"a": "x", "grade": 0.5}', "must be texts", "line 121"),
        ('{"a": "x", "b": "y", "lang": 3, "grade": 0.5}', "must be texts", "line 121"),
        ('{"a": "x", "b": "y"}', "grade", "line 121"),
        ('{"a": "x", "b": "y", "grade": true}', "grade", "line 121"),
        ('{"a": "x", "b": "y", "grade": NaN}', "not a JSON object", "line 121"),
        ('{"a": "x", "b": "y", "grade": 5}', "grade", "line 121"),
    ],
)
def test_a_line_that_is_no_graded_pair_is_named(tmp_path: Path, last: str, what: str, place: str):
    file = tmp_path / "own.jsonl"
    file.write_text(f"{lines(120)}\n{last}\n", "utf-8")
    with pytest.raises(InvalidField) as caught:
        read(file)
    assert what in caught.value.what and caught.value.where.endswith(place)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", lines(99).encode(), b""])
def test_a_file_that_cannot_serve_is_a_named_error(tmp_path: Path, content: bytes | None):
    file = tmp_path / "own.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidField):
        read(file)
