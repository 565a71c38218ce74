"""The token file: its content, access checks, and atomic changes (issue 6, security)."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wellkept.errors import AmbiguousId, ConfigError, InvalidField, NotFound, StorePathError
from wellkept.server.access import Grant, Tokens, tokens_file
from wellkept.testing.clock import FrozenClock

DAY = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tokens_file(tmp_path / "agent.db")


def make(tokens: Tokens, namespace: str = "acme/*", **given: object) -> tuple[str, str]:
    fields = {"name": "ci", "namespaces": [namespace], "scopes": ["write"], **given}
    return tokens.create(**fields)  # type: ignore[arg-type]


def test_the_holder_of_a_secret_gets_what_was_granted_and_nobody_else_anything(path: Path) -> None:
    tokens = Tokens(path)
    _, secret = make(tokens, name="ci", scopes=["write", "read"])
    assert secret.startswith("wk_")
    assert tokens.grant_of(secret) == Grant("ci", ("acme/*",), frozenset({"read", "write"}))
    others = ["", "wk_", secret[:-1], secret + "x", secret.upper(), " " + secret, "\ud800", "é", "x" * 1_000_000]
    assert [tokens.grant_of(other) for other in others] == [None] * len(others)


def test_the_file_holds_no_secret_and_only_its_owner_reads_it(path: Path) -> None:
    tokens = Tokens(path)
    secrets = [make(tokens)[1] for _ in range(3)]
    assert len(set(secrets)) == 3
    kept = path.read_text("utf-8")
    assert not any(secret[3:] in kept for secret in secrets)
    assert not any(secret in repr(tokens.list()) for secret in secrets)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    tokens.revoke(tokens.list()[0].id)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_secret_is_drawn_from_256_random_bits(path: Path) -> None:
    _, secret = make(Tokens(path))
    assert len(secret) == len("wk_") + 43  # 32 bytes in base64 without padding


def test_a_token_revoked_elsewhere_ends_at_once_and_stays_listed(path: Path) -> None:
    """A running server holds its own `Tokens`; it hears of the change by the file alone."""
    server = Tokens(path)
    token_id, secret = make(Tokens(path))
    assert server.grant_of(secret) is not None
    for _ in range(20):  # also within one tick of a coarse clock
        _, other = make(Tokens(path), name="other")
        assert server.grant_of(other) is not None
        Tokens(path).revoke(Tokens(path).list()[-1].id)
        assert server.grant_of(other) is None
    Tokens(path).revoke(token_id[:8])
    assert server.grant_of(secret) is None
    assert [token.id for token in server.list()][0] == token_id
    assert server.list()[0].revoked_at is not None


def test_revoking_twice_keeps_the_first_time(path: Path) -> None:
    clock = FrozenClock(DAY)
    tokens = Tokens(path, clock=clock)
    token_id, _ = make(tokens)
    first = tokens.revoke(token_id)
    clock.advance(days=1)
    assert tokens.revoke(token_id) == first


def test_a_token_ends_at_its_time(path: Path) -> None:
    clock = FrozenClock(DAY)
    tokens = Tokens(path, clock=clock)
    _, secret = make(tokens, expires_at=DAY + timedelta(days=90))
    clock.advance(seconds=90 * 86_400 - 1)
    assert tokens.grant_of(secret) is not None
    clock.advance(seconds=1)
    assert tokens.grant_of(secret) is None
    assert tokens.list()[0].state(clock()) == "expired"


def test_a_server_that_once_asked_for_tokens_goes_on_asking(path: Path) -> None:
    """Neither the last revocation nor a file that vanished opens a door."""
    server = Tokens(path)
    assert not server.required
    token_id, secret = make(Tokens(path))
    assert server.required
    assert server.usable
    Tokens(path).revoke(token_id)
    assert server.required
    assert not server.usable
    path.unlink()
    assert server.required
    assert server.grant_of(secret) is None


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"null",
        b'{"format": 2, "tokens": []}',
        b'{"format": 1}',
        b'{"format": 1, "tokens": [{}]}',
        b'{"format": 1, "tokens": [{"hash": 3}]}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_lets_nobody_in_and_says_so(path: Path, damage: bytes) -> None:
    server = Tokens(path)
    _, secret = make(Tokens(path))
    assert server.grant_of(secret) is not None
    path.write_bytes(damage)
    for ask in (lambda: server.grant_of(secret), lambda: server.required, lambda: make(server)):
        with pytest.raises(ConfigError, match="token file"):
            ask()
    assert path.read_bytes() == damage  # and nothing was written over it


@pytest.mark.parametrize(
    "widen",
    [
        lambda row: row.update(namespaces="*"),
        lambda row: row.update(namespaces=["ac*"]),
        lambda row: row.update(namespaces=[]),
        lambda row: row.update(scopes=["root"]),
        lambda row: row.update(expires_at="soon"),
        lambda row: row.update(hash="0" * 64),
        lambda row: row.update(hash="é" * 64, id="é" * 12),  # nothing to compare a secret with
        lambda row: row.pop("revoked_at"),
    ],
)
def test_a_row_that_was_changed_is_no_grant(path: Path, widen: Callable[[dict[str, object]], None]) -> None:
    _, secret = make(Tokens(path))
    data = json.loads(path.read_bytes())
    widen(data["tokens"][0])
    path.write_text(json.dumps(data), "utf-8")
    with pytest.raises(ConfigError):
        Tokens(path).grant_of(secret)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": " "},
        {"name": "a\x00b"},
        {"name": 3},
        {"namespaces": []},
        {"namespaces": ["ac*"]},
        {"scopes": []},
        {"scopes": ["root"]},
        {"expires_at": DAY},
    ],
)
def test_a_token_that_cannot_be_is_refused_and_nothing_is_written(path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises((InvalidField, ValueError)):
        make(Tokens(path, clock=FrozenClock(DAY)), **wrong)
    assert not path.exists()


def test_tokens_made_at_the_same_time_are_all_kept(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: make(Tokens(path), name=f"n{number}"), range(40)))
    assert {token.id for token in Tokens(path).list()} == {token_id for token_id, _ in made}
    assert [Tokens(path).grant_of(secret) is not None for _, secret in made] == [True] * 40


def test_a_beginning_that_fits_several_tokens_revokes_none(path: Path) -> None:
    tokens = Tokens(path)
    for _ in range(17):  # 17 ids share a first digit somewhere
        make(tokens)
    firsts = [token.id[0] for token in tokens.list()]
    shared = next(digit for digit in firsts if firsts.count(digit) > 1)
    with pytest.raises(AmbiguousId):
        tokens.revoke(shared)
    for absent in ("", "zz", "%"):
        with pytest.raises(NotFound):
            tokens.revoke(absent)
    assert all(token.revoked_at is None for token in tokens.list())


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorePathError, match="nowhere"):
        make(Tokens(tmp_path / "nowhere" / "agent.db.tokens"))


def test_what_a_killed_writer_left_is_in_nobodys_way(path: Path) -> None:
    _, secret = make(Tokens(path))
    path.with_name(f".{path.name}.new").write_bytes(b"half a li")
    assert Tokens(path).grant_of(secret) is not None
    make(Tokens(path), name="next")
    assert len(Tokens(path).list()) == 2
    assert sorted(os.listdir(path.parent)) == [".agent.db.tokens.lock", "agent.db.tokens"]


def test_tokens_that_have_ended_make_room_and_others_never_do(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that creates a short-lived token for each job never needs a manual cleanup."""
    monkeypatch.setattr("wellkept.server.access.token_file.MAX_TOKENS", 3)
    clock = FrozenClock(DAY)
    tokens = Tokens(path, clock=clock)
    _, lasting = make(tokens)
    make(tokens, expires_at=DAY + timedelta(hours=1))
    revoked, _ = make(tokens)
    with pytest.raises(InvalidField, match="3 tokens"):
        make(tokens)
    tokens.revoke(revoked)
    clock.advance(hours=2)
    secrets = [make(tokens)[1] for _ in range(2)]
    assert [tokens.grant_of(secret) is not None for secret in (lasting, *secrets)] == [True] * 3
    with pytest.raises(InvalidField, match="3 tokens"):
        make(tokens)
