"""From a setting to an embedder."""

from __future__ import annotations

import subprocess
import sys

import pytest

from wellkept.errors import ConfigError, ModelUnavailable
from wellkept.models import minilm
from wellkept.models.registry import load_embedder


@pytest.mark.parametrize(
    ("spec", "id_part", "lexical"),
    [
        (None, "minilm", False),
        ("", "minilm", False),
        ("auto", "minilm", False),
        (" MiniLM ", "minilm", False),
        ("hashing", "hashing", True),
        ("http://localhost:1/v1/embeddings?model=nomic&dim=8", "http/localhost/nomic", False),
    ],
)
def test_a_setting_names_an_embedder(spec, id_part, lexical):
    embedder = load_embedder(spec)
    assert id_part in embedder.id
    assert embedder.lexical is lexical


def test_auto_falls_back_to_the_lexical_embedder_and_says_so(monkeypatch, tmp_path):
    """I7, design §6."""
    monkeypatch.setattr(minilm, "WEIGHTS", tmp_path)
    assert load_embedder("auto").lexical


def test_auto_falls_back_when_the_weights_are_damaged(monkeypatch, tmp_path):
    (tmp_path / minilm.ENGLISH).write_bytes(b"cut off")
    monkeypatch.setattr(minilm, "WEIGHTS", tmp_path)
    assert load_embedder(None).lexical


def test_minilm_by_name_never_becomes_another_embedder(monkeypatch, tmp_path):
    monkeypatch.setattr(minilm, "WEIGHTS", tmp_path)
    with pytest.raises(ModelUnavailable):
        load_embedder("minilm")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("word2vec", "'word2vec'"),
        ("ftp://example.org/x", "auto, minilm, hashing, http"),
        ("http://localhost/v1/embeddings", "name of a model"),
        ("http://localhost/v1?model=m&dim=many", "dim must be a whole number"),
        ("http://localhost/v1?model=m&dim=0", "dim must be at least 1"),
        ("http://localhost/v1?model=m&timeout=soon", "timeout must be a number"),
        ("http://?model=m", "http or https URL"),
        ("http://[::1?model=m", "cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_used_is_a_typed_error(spec, said):
    with pytest.raises(ConfigError) as caught:
        load_embedder(spec)
    assert said in str(caught.value)


@pytest.mark.parametrize("spec", ["user:hunter2@host/v1", "http://user:hunter2@[::1?model=m", "https://u:hunter2@h/v1"])
def test_a_password_in_a_setting_is_never_repeated(spec):
    with pytest.raises(ConfigError) as caught:
        load_embedder(spec)
    assert "hunter2" not in str(caught.value)


def test_options_in_the_url_reach_the_embedder_and_the_rest_stays_in_the_url():
    embedder = load_embedder("https://h/v1/embeddings?model=m&dim=256&prefix=query:%20&api-version=2&send_dimensions=1")
    assert embedder.dim == 256
    assert "/256/prefix-" in embedder.id
    assert str(embedder.endpoint._url) == "https://h/v1/embeddings?api-version=2"


def test_naming_embedders_imports_no_heavy_module():
    program = (
        "import sys, wellkept.models.registry;"
        "assert not {'numpy', 'onnxruntime', 'tokenizers', 'httpx2'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True)
