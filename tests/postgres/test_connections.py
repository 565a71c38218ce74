"""The connections of a process: none is lost to a failure, in our count or on the server."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from postgres.proxy import Proxy
from postgres.server import server
from wellkept.errors import StorageError
from wellkept.storage.postgres.server import opening
from wellkept.storage.postgres.server.connections import Connections

MOST = 3


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    running = server()
    url = running.database()
    made = Proxy(url)
    yield made
    made.stop()
    running.release(url)


def pool(url: str) -> Connections:
    return Connections(url, "here", most=MOST, seconds=0.1)


def test_however_often_none_could_be_made_as_many_as_ever_can_be_had_afterwards(proxy: Proxy) -> None:
    ours = pool(proxy.url)
    proxy.refusing = True
    for _ in range(2 * MOST):
        with pytest.raises(StorageError):
            ours.take()
    proxy.refusing = False
    had = [ours.take() for _ in range(MOST)]
    assert len(set(had)) == MOST
    for one in had:
        ours.give(one)
    ours.close()


def test_one_that_breaks_before_anybody_has_it_is_closed_on_the_server_too(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[psycopg.Connection[tuple[object, ...]]] = []

    def breaks(connection: psycopg.Connection[tuple[object, ...]]) -> None:
        made.append(connection)
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(opening, "leaves_nothing", breaks)
    with pytest.raises(StorageError):
        pool(proxy.url).take()
    assert [one.closed for one in made] == [True]
