"""Moving a store, copying it and putting a copy back, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from surfaces.command_line import Cli
from wellkept.cli.app import app
from wellkept.cli.operating.moving_commands import shown

pytestmark = pytest.mark.file  # and of the way from it to a server


def files(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir() if not item.name.endswith(("-wal", "-shm")))


def test_a_store_is_moved_and_the_same_command_again_copies_nothing(cli: Cli) -> None:
    """I5; journal and all: the copy can be undone."""
    cli.remember("Tea is upstairs.")
    cli.remember("Bob's own.", "--namespace", "acme/bob")
    dry = cli.json("migrate", str(cli.db), "sqlite:///copy.db", "--dry-run")
    assert [(one["namespace"], one["state"]) for one in dry["namespaces"]] == [
        ("acme/bob", "would be copied"),
        ("default", "would be copied"),
    ]
    assert files(cli.folder) == ["test.db"]
    done = cli.json("migrate", str(cli.db), "sqlite:///copy.db")
    assert [(one["state"], one["held"]) for one in done["namespaces"]] == [
        ("copied", one["held"]) for one in dry["namespaces"]
    ]
    again = cli.json("migrate", str(cli.db), "copy.db")
    assert [(one["state"], one["entries"]) for one in again["namespaces"]] == [("already there", 0)] * 2
    copy = Cli(cli.folder, cli.folder / "copy.db")
    assert copy.rows("list") == cli.rows("list")
    copy("undo", "1")
    assert copy.rows("list") == [] and len(cli.rows("list")) == 1
    error = cli.json("migrate", str(cli.db), "copy.db", code=1)["error"]
    assert "other things: namespace 'default' at entry 2, where the source is at 1" in error["what"]


def test_a_file_moves_to_a_server_and_back_by_changing_the_address(cli: Cli) -> None:
    from postgres.server import server

    url = server().database()
    cli.remember("Tea is upstairs.")
    there = cli.json("migrate", str(cli.db), url)["namespaces"]
    back = cli.json("migrate", url, "back.db")["namespaces"]
    assert [one["held"] for one in there] == [one["held"] for one in back]
    assert Cli(cli.folder, cli.folder / "back.db").rows("list") == cli.rows("list")
    error = CliRunner().invoke(app, ["--db", url, "backup", "other.db", "--json"])
    assert "pg_dump" in error.stdout and url not in error.stdout


def test_one_namespace_is_moved_beside_others(cli: Cli) -> None:
    """I8."""
    cli.remember("Tea is upstairs.")
    cli.remember("Bob's own.", "--namespace", "acme/bob")
    other = Cli(cli.folder, cli.folder / "other.db")
    other.remember("Something else.")
    assert "namespace 'default'" in cli.json("migrate", str(cli.db), "other.db", code=1)["error"]["what"]
    report = cli("migrate", str(cli.db), "other.db", "--namespace", "acme/bob").stdout
    assert "acme/bob" in report and "Left unchanged there: default" in report
    assert [row["content"] for row in other.rows("list")] == ["Something else."]
    assert [row["content"] for row in other.rows("list", "--namespace", "acme/bob")] == ["Bob's own."]


@pytest.mark.parametrize(
    ("source", "target", "says"),
    [
        ("test.db", "test.db", "the same store"),
        ("test.db", "sqlite:///test.db", "the same store"),
        ("missing.db", "copy.db", "there is no such store"),
        ("test.db", "memory:", "a store in memory ends with the process"),
        ("test.db", "mysql://ana:secret@host/x", "mysql://host/x"),
    ],
)
def test_addresses_that_cannot_be_meant_are_refused(cli: Cli, source: str, target: str, says: str) -> None:
    cli.remember("Tea is upstairs.")
    result = cli("migrate", source, target, code=1)
    assert says in result.stderr and "secret" not in result.stderr + result.stdout
    assert files(cli.folder) == ["test.db"]


@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("a.db", "a.db"),
        ("sqlite:////data/a@b.db", "sqlite:////data/a@b.db"),
        ("postgresql://ana:p@ss@db:5432/memory?password=x", "postgresql://db:5432/memory"),
        ("a\x1b[31m.db", "a\\x1b[31m.db"),
    ],
)
def test_an_address_is_printed_without_what_is_secret(url: str, printed: str) -> None:
    assert shown(url) == printed


def test_a_backup_is_put_back_and_what_was_there_is_kept(cli: Cli) -> None:
    """I1: nothing is lost, not even by going back."""
    cli.remember("Tea is upstairs.")
    told = cli.json("backup", "monday.db")
    assert told["entries"] == {"default": 1} and Path("monday.db").stat().st_size == told["size"]
    assert "the file exists" in cli.json("backup", "monday.db", code=1)["error"]["what"]
    cli("backup", "monday.db", "--force")
    cli.remember("Coffee is downstairs.")
    done = cli.json("restore-backup", "monday.db")
    assert [row["content"] for row in cli.rows("list")] == ["Tea is upstairs."]
    assert Path(done["kept"]).name == "test.db.before-restore"
    assert len(Cli(cli.folder, Path(done["kept"])).rows("list")) == 2
    assert files(cli.folder) == ["monday.db", "test.db", "test.db.before-restore"]
    assert cli.json("backup", str(cli.db), "--force", code=1)["error"]["what"] == "is the store itself"


def test_neither_a_backup_nor_a_return_makes_a_store_of_nothing(cli: Cli) -> None:
    for arguments in (("backup", "copy.db"), ("restore-backup", "copy.db")):
        assert cli.json(*arguments, code=1)["error"]["type"] == "StorePathError"
    assert files(cli.folder) == []


def test_queued_writes_that_are_in_no_copy_are_told(cli: Cli) -> None:
    cli.remember("Tea is upstairs.")
    Path(f"{cli.file}.queue").write_text("{}\n", encoding="utf-8")
    for arguments in (("backup", "copy.db"), ("migrate", str(cli.db), "moved.db")):
        assert "queue flush" in cli(*arguments).stderr
