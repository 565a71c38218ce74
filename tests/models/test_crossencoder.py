"""Cross-encoders from user files: their requirements."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

import tiny_nli
from wellkept.errors import ModelUnavailable
from wellkept.models.judges.nli import NliJudge
from wellkept.models.reranking import OnnxReranker


@pytest.mark.parametrize("model", [NliJudge, OnnxReranker])
@pytest.mark.parametrize(
    ("module", "todo"),
    [("onnxruntime", "pip install onnxruntime"), ("tokenizers", "pip install 'wellkept[crossencoder]'")],
)
def test_without_a_library_the_error_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Callable[[Path], NliJudge], module: str, todo: str
) -> None:
    found = model(tiny_nli.write(tmp_path))
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == module else find(name, *rest))
    with pytest.raises(ModelUnavailable, match=module) as caught:
        found.check()
    assert todo in caught.value.todo
