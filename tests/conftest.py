"""What every test may rely on: no network, no settings of the person who runs it, repeatable examples."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from postgres.given import EVERYWHERE

# The same examples on every run and machine (I4); a found counterexample is printed so that it can
# be pasted into the test. `HYPOTHESIS_PROFILE` is not read: a search for new ones is `--hypothesis-profile=search`;
# `short` is what `make test` runs outside the core, `brief` what other Pythons run, `long` what `make soak` adds.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("short", settings.get_profile("repeatable"), max_examples=25)
settings.register_profile("brief", settings.get_profile("repeatable"), max_examples=15)
settings.register_profile("long", settings.get_profile("repeatable"))
settings.register_profile("search", deadline=None, print_blob=True, max_examples=2000)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests are independent of the environment and the home directory of their user."""
    for name in [name for name in os.environ if name.startswith("WELLKEPT_")]:
        monkeypatch.delenv(name)
    home = _home(tmp_path_factory)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(home))


def _home(factory: pytest.TempPathFactory) -> Path:
    home = factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    return home


@pytest.fixture(scope="session", autouse=True)
def stopped_postgres() -> Iterator[None]:
    """The PostgreSQL server that a test of this process started ends with the session."""
    yield
    if "postgres.server" in sys.modules:
        sys.modules["postgres.server"].stop()


@pytest.fixture(autouse=True)
def returned_databases(own_settings: None) -> Iterator[None]:
    """The database for a test's file is removed after the test; one of a session or module, after the session."""
    shelf = sys.modules["postgres.server"].shelf if "postgres.server" in sys.modules else None
    held = len(shelf.held) if shelf else 0
    yield
    if "postgres.server" in sys.modules:
        sys.modules["postgres.server"].shelf.let_go(held)


@pytest.fixture(autouse=True)
def on_file(request: pytest.FixtureRequest) -> None:
    """Skip tests of files when stores are databases."""
    if EVERYWHERE and request.node.get_closest_marker("file"):
        pytest.skip("tests a file")


@pytest.fixture(autouse=True)
def only_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to another machine fails the test: the product promises to work without a network."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _local(str(address[0])):
            raise AssertionError(f"a test tried to reach {address!r}; only this machine may be reached")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def _local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
