"""`wellkept doctor` looks at everything, hides nothing behind a first finding, and ends with 3 on a failure."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import wellkept
from surfaces.command_line import Cli
from wellkept.cli.operating.store_findings import ReadOnlyStorage
from wellkept.errors import ReadOnly
from wellkept.types import Header


def look(cli: Cli, *arguments: str, code: int = 0) -> dict[str, dict[str, Any]]:
    findings = cli.json("doctor", *arguments, code=code)["findings"]
    assert all(set(item) == {"topic", "health", "what", "todo"} for item in findings)
    return {item["topic"]: item for item in findings}


@pytest.mark.file
def test_a_machine_without_a_store_is_well(cli: Cli) -> None:
    found = look(cli)
    assert {item["health"] for item in found.values()} == {"ok"}
    assert "does not exist yet" in found["store"]["what"]
    assert not cli.file.exists()
    assert {"python", "sqlite", "full text", "numpy", "model"} <= set(found)


def test_a_store_is_looked_through(cli: Cli) -> None:
    cli("remember", "Deploys happen on Monday.")
    cli("remember", "Deploys do not happen on Monday.", "--namespace", "acme")
    cli("remember", "Deploys happen on Monday.", "--namespace", "acme")
    found = look(cli)
    assert "3 memories, 3 journal entries, 2 namespaces" in found["contents"]["what"]
    assert (found["conflicts"]["health"], found["conflicts"]["what"]) == ("warn", "1 open")
    assert found["vectors"]["what"] == "hashing-v1/384"
    assert found["integrity"] == {"topic": "integrity", "health": "ok", "what": "sound", "todo": ""}
    assert "schema" in found["store"]["what"]


def test_the_default_embedder_answers(cli: Cli) -> None:
    found = look(cli, "--embedder", "minilm")
    assert "minilm-l6-v2-int7" in found["model"]["what"] and "384 dimensions" in found["model"]["what"]


def test_the_relation_model_answers_with_its_second_reader_if_the_policy_has_one(cli: Cli, tmp_path: Path) -> None:
    alone = tmp_path / "alone.toml"
    alone.write_text('second_reader = "off"\n', encoding="utf-8")
    assert "/2, loaded" in look(cli)["relation model"]["what"]
    assert "/2, loaded" not in look(cli, "--policy", str(alone))["relation model"]["what"]


def test_where_each_setting_comes_from_is_told_and_a_key_is_not(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WELLKEPT_ACTOR", "alice")
    monkeypatch.setenv("WELLKEPT_EMBEDDER_KEY", "sk-very-secret")
    Path("wellkept.toml").write_text('namespace = "acme"\n[kinds.recipe]\npreset = "knowledge"\n', encoding="utf-8")
    found = look(cli)
    assert found["actor"]["what"] == "alice  [environment]"
    assert found["namespace"]["what"] == "acme  [wellkept.toml]"
    assert "24 kinds" in found["policy"]["what"] and "[wellkept.toml]" in found["policy"]["what"]
    assert found["durability"]["what"] == "full  [default]"
    assert found["settings read"]["what"] == "wellkept.toml"
    shown = cli("doctor").stdout
    assert "environment" in shown and "sk-very-secret" not in shown


def test_a_password_in_an_address_is_not_shown(cli: Cli) -> None:
    address = "http://user:hunter2@127.0.0.1:1/v1/embeddings?model=m&dim=3&key=hunter3&retries=0"
    shown = cli("doctor", "--embedder", address, code=3).stdout
    assert "127.0.0.1" in shown and "hunter" not in shown


def test_a_password_in_the_address_of_a_store_is_not_shown(cli: Cli) -> None:
    address = "postgresql://ana:s3cret@127.0.0.1:9/memory?password=s3cret"
    told = cli("doctor", "--db", address, code=3)
    assert "postgresql://127.0.0.1:9/memory" in told.stdout
    assert "s3cret" not in told.stdout + told.stderr


def test_vectors_of_another_embedder_are_a_failure(cli: Cli) -> None:
    cli("remember", "Tea at four.")
    found = look(cli, "--embedder", "minilm", code=3)
    assert found["vectors"]["health"] == "fail"
    assert "wellkept reembed" in found["vectors"]["todo"]
    assert found["integrity"]["health"] == "ok", "what comes after a failure is looked at too"


@pytest.mark.file
def test_a_damaged_store_is_a_failure_and_not_a_crash(cli: Cli) -> None:
    cli.file.write_bytes(b"this is no database, whatever its name says" * 5)
    found = look(cli, code=3)
    assert found["store"]["health"] == "fail"
    assert "not a Wellkept store" in found["store"]["what"]
    assert found["model"]["health"] == "ok"


def test_a_link_to_nowhere_is_a_failure_with_a_remedy(cli: Cli) -> None:
    cli("link", cli.remember("Tea at four."), "nobody", "--quiet")
    found = look(cli, code=3)
    assert (found["integrity"]["health"], found["integrity"]["todo"]) == ("fail", "Unlink it, or run `wellkept repair`")


def test_broken_settings_are_a_failure_and_the_rest_is_still_told(cli: Cli) -> None:
    Path("wellkept.toml").write_text("namespace = [", encoding="utf-8")
    found = look(cli, code=3)
    assert found["settings"]["health"] == "fail" and "wellkept.toml" in found["settings"]["what"]
    assert found["python"]["health"] == "ok"


def test_the_table_is_for_people(cli: Cli) -> None:
    shown = cli("doctor").stdout
    assert "topic" in shown and "sqlite" in shown and "FTS5" in shown


def test_looking_changes_nothing_in_the_store_not_even_the_policy_it_was_opened_with(cli: Cli) -> None:
    """A doctor with other settings than the agent's must not write them into the agent's store."""
    cli("remember", "Tea at four.")
    before = header(cli)
    Path("wellkept.toml").write_text('[kinds.recipe]\npreset = "knowledge"\n', encoding="utf-8")
    assert look(cli)["integrity"]["what"] == "sound"
    assert header(cli) == before


def test_what_is_looked_at_can_be_read_and_not_written(cli: Cli) -> None:
    cli("remember", "Tea at four.")
    with closing(storage_of(cli)) as storage:
        seen = ReadOnlyStorage(storage)
        with pytest.raises(ReadOnly):
            seen.begin("default", write=True)
        with pytest.raises(ReadOnly):
            seen.mend(dry_run=False)
        with seen.begin("default", write=False) as tx:
            assert tx.seq == 1
        assert (seen.verify(), seen.mend(dry_run=True), seen.strayed("default")) == ([], [], [])


def header(cli: Cli) -> Header:
    with closing(storage_of(cli)) as storage:
        said: Header = storage.header()
        return said


def storage_of(cli: Cli) -> Any:
    return wellkept._storage(str(cli.db))
