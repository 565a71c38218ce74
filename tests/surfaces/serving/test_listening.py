"""Where a server may listen (issue 6, security): beyond this machine only with tokens."""

from __future__ import annotations

import socket

import pytest

from wellkept.errors import ConfigError, WellkeptError
from wellkept.server.serving import address_of, host_names, is_loopback, listen, refuse_to_be_open


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("10.0.0.1", False),
        ("192.0.2.7", False),
        ("::ffff:10.0.0.1", False),
        ("no such name", False),
        ("a" * 300, False),
        ("\udcff", False),
    ],
)
def test_loopback_is_this_machine_and_nothing_else(host: str, *, own: bool) -> None:
    assert is_loopback(host) is own


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.7"])
def test_a_server_without_tokens_does_not_listen_to_a_network(host: str) -> None:
    with pytest.raises(ConfigError, match="token create"):
        refuse_to_be_open(host, tokens=False)
    refuse_to_be_open(host, tokens=True)


@pytest.mark.parametrize("tokens", [True, False])
def test_a_server_may_listen_on_loopback_with_and_without_tokens(*, tokens: bool) -> None:
    refuse_to_be_open("127.0.0.1", tokens=tokens)


def test_a_port_that_is_taken_is_named() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(WellkeptError, match=f"127.0.0.1:{port}.*--port"):
            listen("127.0.0.1", port)


def test_answers_are_sent_without_waiting_for_receipts() -> None:
    """Nagle off: asyncio does that only where the socket names its protocol, else a request takes 40 ms."""
    with listen("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP


def test_the_address_is_one_a_client_can_use() -> None:
    with listen("127.0.0.1", 0) as bound:
        host, port = bound.getsockname()
        assert address_of(bound) == f"http://{host}:{port}"
        with socket.create_connection((host, port), timeout=5):
            pass


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("memory.example.org", "memory.example.org"),
        (" Memory.Example.ORG ", "memory.example.org"),
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "::1"),
        ("[FE80::1]", "fe80::1"),
        ("*", "*"),
        ("https://memory.example.org", None),
        ("memory.example.org:8642", None),
        ("memory.example.org/", None),
        ("*.example.org", None),
        ("a b", None),
        ("", None),
    ],
)
def test_a_name_that_no_request_could_have_is_an_error_and_not_a_silent_no(name: str, kept: str | None) -> None:
    """Security: `Host` is compared without scheme and port, so a name with one would refuse every client."""
    if kept is None:
        with pytest.raises(ConfigError, match="--allowed-host"):
            host_names([name], tokens=True)
    else:
        assert host_names([name], tokens=True) == (kept,)


def test_any_name_is_answered_only_where_tokens_are_asked_for() -> None:
    """DNS rebinding: without tokens the name is all that keeps pages of other sites out."""
    with pytest.raises(ConfigError, match="token create"):
        host_names(["memory.example.org", "*"], tokens=False)


@pytest.mark.parametrize(
    ("host", "hint"),
    [("no-such-host.invalid", "--host"), ("a" * 300, "--host"), ("192.0.2.7", "--host")],
)
def test_an_address_that_is_not_this_machines_is_not_blamed_on_the_port(host: str, hint: str) -> None:
    with pytest.raises(WellkeptError) as told:
        listen(host, 0)
    assert hint in told.value.todo
