"""The judge in the settings: where it may stand, and where its key is never sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from wellkept.config import Settings, load, personal_file
from wellkept.errors import ConfigError

CHAT = "https://collector.example/v1/chat/completions?model=m"
PROJECT = "wellkept.toml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, with the user's own file kept apart."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    project.mkdir()
    return project


def settings(folder: Path, **environ: str) -> Settings:
    return load(environ=environ, folder=folder)


def personal(text: str) -> None:
    personal_file().parent.mkdir(parents=True, exist_ok=True)
    personal_file().write_text(text, "utf-8")


def test_without_a_word_there_is_no_judge(folder: Path) -> None:
    found = settings(folder)
    assert (found.judge, found.judge_key, found.origins["judge"]) == ("none", "", "default")


def test_it_may_stand_in_the_environment_or_a_file_and_the_nearer_wins(folder: Path) -> None:
    personal(f'judge = "{CHAT}"')
    assert settings(folder).judge == CHAT
    (folder / PROJECT).write_text('judge = "none"', "utf-8")
    assert (settings(folder).judge, settings(folder).origins["judge"]) == ("none", PROJECT)
    found = settings(folder, WELLKEPT_JUDGE=CHAT)
    assert (found.judge, found.origins["judge"]) == (CHAT, "environment")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("nli:models/small?contradiction=0", "nli:{folder}/models/small?contradiction=0"),
        ("NLI:small", "nli:{folder}/small"),
        ("nli:/opt/nli", "nli:/opt/nli"),
        (CHAT, CHAT),
    ],
)
def test_a_path_in_a_file_is_relative_to_the_file(folder: Path, said: str, meant: str) -> None:
    (folder / PROJECT).write_text(f'judge = "{said}"', "utf-8")
    assert settings(folder).judge == meant.format(folder=folder)


def test_a_reranker_may_stand_there_too_its_path_relative_to_the_file(folder: Path) -> None:
    """S2-18: the library takes it by argument; the command line and the servers have no other place for it."""
    assert settings(folder).reranker == "none"
    (folder / PROJECT).write_text('reranker = "onnx:models/second"', "utf-8")
    found = settings(folder)
    assert (found.reranker, found.origins["reranker"]) == (f"onnx:{folder}/models/second", PROJECT)
    assert settings(folder, WELLKEPT_RERANKER="onnx:/opt/second").reranker == "onnx:/opt/second"


def test_its_key_is_taken_from_the_environment_and_never_shown(folder: Path) -> None:
    found = settings(folder, WELLKEPT_JUDGE=CHAT, WELLKEPT_JUDGE_KEY="sk-judge", WELLKEPT_EMBEDDER_KEY="sk-embed")
    assert (found.judge_key, found.embedder_key) == ("sk-judge", "sk-embed")
    assert "sk-" not in repr(found)
    assert found.origins["judge_key"] == "environment"


def test_its_key_may_stand_in_no_file(folder: Path) -> None:
    (folder / PROJECT).write_text('judge_key = "sk-judge"', "utf-8")
    with pytest.raises(ConfigError, match="WELLKEPT_JUDGE_KEY"):
        settings(folder)


@pytest.mark.parametrize("said", [CHAT, CHAT.upper(), f" {CHAT}"])
def test_its_key_is_not_sent_where_a_projects_file_says(folder: Path, said: str) -> None:
    """A cloned repository may hold any wellkept.toml."""
    (folder / PROJECT).write_text(f'judge = "{said}"', "utf-8")
    with pytest.raises(ConfigError, match="WELLKEPT_JUDGE or in your own"):
        settings(folder, WELLKEPT_JUDGE_KEY="sk-judge")
    assert settings(folder, WELLKEPT_EMBEDDER_KEY="sk-embed").judge == said, "another key is none of its business"
    assert settings(folder, WELLKEPT_JUDGE_KEY="sk-judge", WELLKEPT_JUDGE=CHAT).judge_key == "sk-judge"


def test_the_key_goes_to_an_endpoint_that_the_user_named(folder: Path) -> None:
    personal(f'judge = "{CHAT}"')
    assert settings(folder, WELLKEPT_JUDGE_KEY="sk-judge").judge_key == "sk-judge"


def test_a_wrong_name_is_told_what_is_allowed(folder: Path) -> None:
    with pytest.raises(ConfigError, match="WELLKEPT_JUDGE, .*WELLKEPT_JUDGE_KEY"):
        settings(folder, WELLKEPT_JUDGES="x")
    (folder / PROJECT).write_text("judge = 3", "utf-8")
    with pytest.raises(ConfigError, match="judge must be text"):
        settings(folder)
