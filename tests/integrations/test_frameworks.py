"""No framework is imported before it is used; one that is missing or unknown is an error that names the versions."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from stores import desk, scratch
from wellkept.errors import FrameworkUnavailable, InvalidField, StorageError
from wellkept.integrations import frameworks
from wellkept.integrations.common.namespaces import below
from wellkept.integrations.common.tools import MemoryTools
from wellkept.integrations.common.turns import Turn, query_of, take_in
from wellkept.integrations.frameworks import FRAMEWORKS

ROOT = Path(__file__).parents[2]
IMPORTED_AS = {
    "adk": "google.adk",
    "agent_framework": "agent_framework",
    "anthropic": "anthropic",
    "crewai": "crewai",
    "langchain": "langchain_core",
    "langgraph": "langgraph",
    "llamaindex": "llama_index",
    "openai_agents": "agents",
    "opentelemetry": "opentelemetry",
    "pydantic_ai": "pydantic_ai",
    "strands": "strands",
}


def test_nothing_but_its_own_module_imports_a_framework() -> None:
    assert set(IMPORTED_AS) == set(FRAMEWORKS)
    script = f"""
import pkgutil, sys, importlib, wellkept, wellkept.integrations
import wellkept.integrations.common as common
for module in pkgutil.iter_modules(common.__path__):
    importlib.import_module(f"wellkept.integrations.common.{{module.name}}")
for name in ("keyed", "frameworks", "mem0", "memory_folder"):
    importlib.import_module(f"wellkept.integrations.{{name}}")
print(sorted(set({sorted(IMPORTED_AS.values())}) & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", sorted(FRAMEWORKS))
@pytest.mark.parametrize("found", [None, "0.0.1", "999.0"])
def test_a_framework_that_is_missing_or_unknown_names_the_versions_that_work(
    name: str, found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(_: str) -> str:
        if found is None:
            raise frameworks.metadata.PackageNotFoundError
        return found

    monkeypatch.setattr(frameworks.metadata, "version", version)
    monkeypatch.delitem(sys.modules, f"wellkept.integrations.{name}", raising=False)
    with pytest.raises(FrameworkUnavailable) as raised:
        __import__(f"wellkept.integrations.{name}")
    wanted = FRAMEWORKS[name].versions if found else f"wellkept[{FRAMEWORKS[name].extra}]"
    assert wanted in str(raised.value) and FRAMEWORKS[name].distribution in str(raised.value)


def test_an_extra_brings_the_versions_that_an_integration_accepts() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {name: extras[one.extra] for name, one in FRAMEWORKS.items()} == {
        name: [one.versions] for name, one in FRAMEWORKS.items()
    }


# --------------------------------------------------------------------------------------------
# What several integrations use


@pytest.fixture
def minilm(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    """A store whose decisions are those of the packaged models."""
    with wellkept.open(scratch(tmp_path)) as memories:
        yield memories


def test_a_model_is_told_what_the_gate_did_and_can_take_it_back(minilm: wellkept.MemoryStore) -> None:
    tools = MemoryTools(minilm)

    async def work() -> list[str]:
        return [
            await tools.remember("The staging server listens on port 8080.", kind="fact"),
            await tools.remember("The staging server listens on port 9090.", kind="fact"),
            await tools.recall("port of the staging server"),
            await tools.undo(2),
            await tools.recall("port of the staging server"),
            await tools.forget(minilm.list()[0].id),
            await tools.recall("port of the staging server"),
        ]

    said = asyncio.run(work())
    assert "replaces" in said[1] and said[1].endswith("undo(2) takes this back.")
    assert "9090" in said[2] and "8080" not in said[2]
    assert "8080" in said[4] and "9090" not in said[4]
    assert said[5] == "Forgotten. undo(4) brings it back."
    assert said[6] == "Nothing found."


def test_what_a_model_gets_wrong_is_said_and_what_the_disk_gets_wrong_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = desk("memory", tmp_path).store
    tools = MemoryTools(store)
    for wrong in (tools.remember("  "), tools.forget("nothing"), tools.undo(7), tools.recall("x" * 30_000)):
        assert asyncio.run(wrong).startswith("Not done: ")
    assert store.journal() == ()
    monkeypatch.setattr(type(store), "remember", lambda *_, **__: (_ for _ in ()).throw(StorageError("full")))
    with pytest.raises(StorageError):
        asyncio.run(tools.remember("Tea is upstairs."))
    with pytest.raises(InvalidField, match="is no tool"):
        tools.functions(["erase"])


def test_a_turn_that_cannot_be_stored_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = desk("memory", tmp_path).store
    said = [
        Turn("Tea is upstairs.", key="1"),
        Turn("Cups\0"),
        Turn(" "),
        Turn("x" * 300_000),
        Turn("Cups are downstairs."),
    ]
    assert [result.outcome for result in take_in(store, said, kind="note")] == ["created", "created"]
    assert len(caplog.messages) == 2 and all("A turn was not stored" in line for line in caplog.messages)
    assert take_in(store, [Turn("Tea is upstairs.", key="1")], kind="note")[0].entry == 0  # taken in before
    assert len(store.list()) == 2 and query_of("a\0b", "\n c") == "a b c"


@pytest.mark.parametrize("name", ["", "  ", None, 7, "x" * 300])
def test_a_name_that_makes_no_namespace_is_refused(tmp_path: Path, name: object) -> None:
    with pytest.raises(InvalidField):
        below(desk("memory", tmp_path).store, user_id=name)


def test_two_names_never_share_a_namespace(tmp_path: Path) -> None:
    store = desk("memory", tmp_path).store
    pairs = [("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("a", "b c"), ("a", "b  c"), ("A", "b c"), ("a", " b c")]
    names = [below(store, app_name=app, user_id=user).namespace for app, user in pairs]
    assert len(set(names)) == len(names)
