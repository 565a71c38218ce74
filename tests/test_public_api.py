"""The public names: sorted, all there, all explained, all mentioned where a reader looks."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wellkept

ROOT = Path(__file__).parents[1]
NAMES = tuple(wellkept.__all__)


def documents() -> str:
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return "\n".join(path.read_text("utf-8") for path in files if path.is_file())


def explained(value: Any) -> bool:
    """Whether it has a written docstring; a dataclass without one gets its signature."""
    text = inspect.cleandoc(value.__dict__.get("__doc__") or "" if inspect.isclass(value) else value.__doc__ or "")
    return len(text.split()) >= 3 and not text.startswith(f"{value.__name__}(")


def verbs() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in inspect.getmembers(wellkept.MemoryStore, inspect.isfunction):  # those of its bases too
        if not name.startswith("_"):
            yield name, value


def test_the_names_are_sorted_and_each_is_named_once() -> None:
    assert list(NAMES) == sorted(set(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(wellkept, name) is not None
    assert name in dir(wellkept)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = wellkept.no_such_name  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_class_and_function_says_what_it_means(name: str) -> None:
    value = getattr(wellkept, name)
    if inspect.isclass(value) or inspect.isroutine(value):
        assert explained(value), f"{name} has no docstring of its own"


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("__")])
def test_every_public_name_is_mentioned_in_the_documents(name: str) -> None:
    assert re.search(rf"\b{re.escape(name)}\b", documents()), f"{name} is in neither README.md nor docs/"


@pytest.mark.parametrize(("name", "verb"), list(verbs()), ids=[name for name, _ in verbs()])
def test_every_verb_is_explained_with_an_example(name: str, verb: Callable[..., Any]) -> None:
    assert explained(verb), f"MemoryStore.{name} has no docstring"
    assert ">>>" in (verb.__doc__ or ""), f"MemoryStore.{name} shows no example"
    assert re.search(rf"\b{name}\b", documents()), f"MemoryStore.{name} is in neither README.md nor docs/"


@pytest.mark.skipif(os.name == "nt", reason="a colon is no letter of a name there")
@pytest.mark.parametrize("name", ["a.db", "memory:", "sqlite:", "Ünïcode 名前.db"])
def test_a_path_names_a_file_whatever_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The text `memory:` means no file; a path with this name is a file, with its queue beside it."""
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / name, Path(name)):
        with wellkept.open(path, embedder="hashing", relation_model="none") as store:
            store.remember("Use ruff for linting.", kind="lesson")
            store.queue.remember("later", kind="thesis")
            assert (tmp_path / f"{name}.queue").stat().st_size > 0
            store.queue.flush()
            assert len(store.list()) >= 2
    assert (tmp_path / name).stat().st_size > 0
