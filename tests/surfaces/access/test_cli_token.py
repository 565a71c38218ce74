"""`wellkept token`: the secret once, the list without it, and the end of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surfaces.command_line import Cli
from surfaces.serving.running import tokens_of


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Cli(tmp_path, tmp_path / "test.db")


def test_a_token_is_made_listed_and_revoked(cli: Cli) -> None:
    made = cli(
        "token", "create", "--namespace", "acme/*", "--namespace", "acme", "--scope", "read,write", "--name", "ci"
    )
    secret = made.stdout.strip()  # standard output is the secret alone, for a script to take
    with tokens_of(cli.db) as tokens:
        grant = tokens.grant_of(secret)
        assert grant is not None
        assert (grant.actor, grant.namespaces, grant.scopes) == ("ci", ("acme/*", "acme"), frozenset({"read", "write"}))
        for listed in (cli("token", "list").stdout, cli("token", "list", "--json").stdout):
            assert "ci" in listed
            assert "acme/*" in listed
            assert secret not in listed
            assert tokens.list()[0].hash not in listed
        token_id = tokens.list()[0].id
        assert cli.json("token", "revoke", token_id[:6])["state"] == "revoked"
        assert tokens.grant_of(secret) is None
    assert [row["state"] for row in cli.rows("token", "list")] == ["revoked"]


def test_a_token_without_a_name_is_called_by_what_it_opens(cli: Cli) -> None:
    """Issue 6, part 4: `wellkept token create --namespace acme/* --scope read,write,admin --expires` is enough."""
    words = ("token", "create", "--namespace", "acme/*", "--scope", "read,write,admin", "--expires", "30d")
    made = cli.json(*words, "--namespace", "birch")
    assert (made["name"], made["scopes"]) == ("acme/*, birch", ["read", "write", "admin"])
    many = [word for at in range(90) for word in ("--namespace", f"acme/a-long-name-of-a-namespace-{at}")]
    assert len(cli.json(*words, *many)["name"]) == 100


def test_the_namespace_of_the_settings_is_not_taken_for_a_grant(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Namespaces of a token are an argument of the command, never taken from environment or settings."""
    monkeypatch.setenv("WELLKEPT_NAMESPACE", "somewhere")
    cli("token", "create", "--name", "ci", code=2)
    made = cli.json("--namespace", "elsewhere", "token", "create", "--name", "ci", "--namespace", "acme")
    assert made["namespaces"] == ["acme"]


@pytest.mark.parametrize(
    ("expires", "days"),
    [("90d", 90), ("36h", 1), ("2w", 14), ("1y", 365), ("never", None)],
)
def test_a_token_ends_when_it_was_said(cli: Cli, expires: str, days: int | None) -> None:
    cli("token", "create", "--name", "ci", "--namespace", "a", "--expires", expires)
    with tokens_of(cli.db) as tokens:
        [token] = tokens.list()
    assert (token.expires_at and (token.expires_at - token.created_at).days) in (days, days and days - 1)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--expires", "soon"],
        ["--expires", "0d"],
        ["--expires", "-1d"],
        ["--expires", "999999y"],
        ["--expires", ""],
        ["--scope", "root"],
        ["--scope", ""],
        ["--namespace", "ac*"],
    ],
)
def test_what_cannot_be_granted_is_refused(cli: Cli, wrong: list[str]) -> None:
    told = cli("token", "create", "--name", "ci", "--namespace", "a", "--json", *wrong, code=1)
    assert json.loads(told.stdout)["error"]["type"] == "InvalidField"
    with tokens_of(cli.db) as tokens:
        assert tokens.list() == ()


def test_a_store_without_a_file_has_no_tokens(cli: Cli) -> None:
    told = cli("--db", "memory:", "token", "create", "--name", "ci", "--namespace", "a", "--json", code=1)
    assert json.loads(told.stdout)["error"]["type"] == "StorePathError"


def test_a_hostile_name_is_shown_harmless(cli: Cli) -> None:
    cli("token", "create", "--name", "ci\u202egnirts", "--namespace", "a")
    shown = cli("token", "list").stdout + cli("token", "list", "--json").stdout
    assert "\u202e" not in shown


@pytest.mark.file
def test_a_token_beside_a_store_that_is_not_there_is_made_and_that_is_said(cli: Cli) -> None:
    """A mistyped --db would leave the server that was meant open."""
    create = ("token", "create", "--name", "ci", "--namespace", "acme")
    assert str(cli.db) in cli(*create).stderr
    cli.remember("Tea is upstairs.")
    assert str(cli.db) not in cli(*create).stderr
