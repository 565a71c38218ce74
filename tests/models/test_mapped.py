"""Networks whose weights stay in their files: the same digits as from the whole file, and typed errors."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from mmap import mmap
from pathlib import Path

import numpy as np
import pytest
from training.outline import write_outline

from models.test_exact import FILES, _rows
from wellkept.errors import ModelUnavailable
from wellkept.models import mapped, minilm, multilingual, relation
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.onnx import session

HASHES = minilm._SHA256 | relation._NETWORKS


def content_of(path: Path) -> mmap:
    return mapped.verified_mapping(path, HASHES[path.name], what="the weights", todo="Reinstall it")


@pytest.mark.parametrize("which", FILES)
def test_an_outline_is_that_of_its_network(which: str, tmp_path: Path) -> None:
    write_outline(FILES[which], tmp_path / "again.zip")
    again, packaged = (
        {name: file.read(name) for name in file.namelist()}
        for file in map(zipfile.ZipFile, (tmp_path / "again.zip", mapped.outline_of(FILES[which].name)))
    )
    assert again == packaged


@pytest.mark.parametrize("which", FILES)
def test_a_mapped_network_gives_the_digits_of_the_whole_file(which: str) -> None:
    path = FILES[which]
    here = mapped.mapped_session(content_of(path), path, what="the weights", todo="")
    whole = session(path.read_bytes(), what="the weights", where=path, todo="", exact=True)
    for row in _rows(which)[:5]:
        assert np.array_equal(here.run(None, row)[0], whole.run(None, row)[0])


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells of a process")
def test_the_vectors_of_pieces_are_in_memory_only_as_far_as_they_are_read() -> None:
    multilingual._table.cache_clear()
    multilingual.vectors_of([[5, 6, 7]], relation.WEIGHTS)
    told = Path("/proc/self/smaps").read_text("utf-8").partition(multilingual.VECTORS)[2]
    resident = next(int(line.split()[1]) for line in told.splitlines() if line.startswith("Rss:"))
    assert resident * 1024 < (relation.WEIGHTS / multilingual.VECTORS).stat().st_size / 10


@pytest.mark.parametrize(
    ("content", "told"), [(None, "cannot be read"), (b"", "not the known ones"), (b"cut off", "not the known ones")]
)
def test_bad_weights_are_a_typed_error_that_names_the_file(tmp_path: Path, content: bytes | None, told: str) -> None:
    path = tmp_path / "relation.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelUnavailable, match=told) as caught:
        content_of(path)
    assert str(path) in str(caught.value)


def test_a_damaged_outline_is_a_typed_error_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "WEIGHTS", tmp_path)
    mapped.outline_of("relation.onnx").write_bytes(b"cut off")
    with pytest.raises(ModelUnavailable, match=r"relation\.outline\.zip"):
        mapped.mapped_session(content_of(FILES["relation"]), FILES["relation"], what="the weights", todo="")


def test_a_link_with_another_name_is_read_as_a_whole_file(tmp_path: Path) -> None:
    path = FILES["embedder"]
    (tmp_path / "4429").write_bytes(path.read_bytes())
    (tmp_path / path.name).symlink_to(tmp_path / "4429")
    linked = MiniLmEmbedder(tmp_path).embed(["Tea at four."])
    assert np.array_equal(linked[0].vector, MiniLmEmbedder().embed(["Tea at four."])[0].vector)


def test_a_link_with_the_same_name_is_mapped(tmp_path: Path) -> None:
    path = FILES["embedder"]
    (tmp_path / path.name).symlink_to(path)
    linked = MiniLmEmbedder(tmp_path).embed(["Tea at four."])
    assert np.array_equal(linked[0].vector, MiniLmEmbedder().embed(["Tea at four."])[0].vector)


def test_a_file_that_cannot_be_mapped_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    path = FILES["embedder"]

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no such device")

    monkeypatch.setattr("wellkept.models.mapped.mmap.mmap", refuse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped, "_let_go", lambda _content: None)
        running = mapped.mapped_session(content_of(path), path, what="the weights", todo="")
    row = _rows("embedder")[0]
    assert np.allclose(np.linalg.norm(running.run(None, row)[0]), 1)


def test_a_model_that_names_another_file_for_its_weights_is_refused(tmp_path: Path) -> None:
    """A hash of the model would not cover them."""
    outline = zipfile.ZipFile(mapped.outline_of("relation.onnx")).read(mapped.GRAPH)
    (tmp_path / "relation.onnx").write_bytes(FILES["relation"].read_bytes())
    with pytest.raises(ModelUnavailable):
        session(outline, what="the model", where=tmp_path / "model.onnx", todo="")


@pytest.mark.parametrize("name", ["relation.onnx", "embedder.onnx"])
def test_checking_a_model_checks_its_outline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for packaged in relation.WEIGHTS.glob("*.outline.zip"):
        (tmp_path / packaged.name).write_bytes(b"" if packaged.name.startswith(name[:-5]) else packaged.read_bytes())
    model = relation.PackagedRelationModel() if name == "relation.onnx" else MiniLmEmbedder()
    model.check()
    relation._checked.cache_clear()
    monkeypatch.setattr(mapped, "WEIGHTS", tmp_path)
    with pytest.raises(ModelUnavailable, match="outline"):
        model.check()
    relation._checked.cache_clear()


ENDING = """
import atexit, threading, time
from wellkept.models.minilm import MiniLmEmbedder
texts = [f"Tea number {number} is at four." for number in range(120)]
def late():
    time.sleep(0.5)
    print("late", len(MiniLmEmbedder().embed(texts)), flush=True)
threading.Thread(target=late).start()
atexit.register(lambda: print("at exit", len(MiniLmEmbedder().embed(texts)), flush=True))
"""


def test_what_a_program_embeds_at_its_end_is_embedded() -> None:
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split("\n")[:2] == ["late 120", "at exit 120"]
