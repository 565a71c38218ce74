"""A cross-encoder from a file as a reranker: its input and the meaning of its output (S2-18)."""

from __future__ import annotations

import hashlib
import threading

import numpy as np
import pytest

import tiny_nli
from tiny_nli import CONTRADICTION, SECOND, share
from wellkept.errors import ConfigError, ModelResponseInvalid, ModelUnavailable
from wellkept.models.registry import load_reranker
from wellkept.models.reranking import OnnxReranker, TimeBoxedReranker, worth


@pytest.fixture
def folder(tmp_path):
    """A model with three outputs; the first means "shut"."""
    return tiny_nli.write(tmp_path / "tiny")


def test_each_text_is_read_beside_the_question_and_needs_no_company(folder):
    """I4."""
    reranker = OnnxReranker(folder, output=CONTRADICTION)
    answers = reranker.rerank("open", ["shut", "open"])
    assert answers[0] == pytest.approx(share(SECOND, 0, 1), abs=1e-4) and answers[0] > answers[1]
    assert reranker.rerank("open", ["open", "shut"]) == answers[::-1]
    assert reranker.rerank("open", ["shut"]) == answers[:1]
    assert reranker.rerank("open", []) == []


def test_a_long_text_loses_its_end_and_is_read_all_the_same(folder):
    reranker = OnnxReranker(folder, output=CONTRADICTION, longest=12)
    [first, last] = reranker.rerank("open", ["shut " + "open " * 500, "open " * 500 + "shut"])
    assert first > last


@pytest.mark.parametrize(
    ("logits", "output", "expected"),
    [([[0.0]], None, 0.5), ([[4.0]], None, 0.982014), ([[-900.0]], None, 0.0), ([[900.0]], 0, 1.0),
     ([[0.0, 0.0]], 1, 0.5), ([[0.0, 2.0, 0.0]], 1, 0.786986)],
)  # fmt: skip
def test_one_output_is_squashed_and_of_several_the_named_one_is_taken(logits, output, expected):
    assert worth(np.asarray(logits), output) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("logits", "output"),
    [([[1.0, 2.0]], None), ([[1.0, 2.0]], 2), ([[np.nan]], None), ([[1.0], [2.0]], None), ([1.0], None), ([[]], None)],
)
def test_an_output_that_is_no_row_of_logits_is_refused(logits, output):
    with pytest.raises(ModelResponseInvalid):
        worth(np.asarray(logits), output)


def test_a_setting_names_path_and_options(folder):
    digest = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    reranker = load_reranker(f"onnx:{folder}?output=0&sha256={digest}&longest=64&seconds=30")
    assert reranker is not None and reranker.id == f"rerank/tiny@{digest[:8]}"
    [shut, calm] = reranker.rerank("open", ["shut", "open"])
    assert shut > calm
    assert load_reranker(None) is load_reranker("none") is None


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("magic", ConfigError),
        ("onnx:", ConfigError),
        ("onnx:{folder}?colour=red", ConfigError),
        ("onnx:{folder}?output=-1", ConfigError),
        ("onnx:{folder}?output=first", ConfigError),
        ("onnx:{folder}?longest=2", ConfigError),
        ("onnx:{folder}?seconds=0", ConfigError),
        ("onnx:{folder}/nowhere", ModelUnavailable),
        ("onnx:{folder}?sha256=00", ModelUnavailable),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_at_once(folder, spec, error):
    with pytest.raises(error) as caught:
        load_reranker(spec.format(folder=folder))
    assert caught.value.todo or caught.value.where


def test_a_late_reranker_is_not_waited_for():
    held = threading.Event()

    class Slow:
        id = "slow"

        def rerank(self, query, texts):
            held.wait(30)
            return [0.0 for _ in texts]

    with pytest.raises(ModelUnavailable):
        TimeBoxedReranker(Slow(), seconds=0.02).rerank("x", ["y"])
    held.set()
