"""One header means one thing, whichever surface reads it (issue 6)."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

import wellkept
from wellkept.errors import InvalidField, WellkeptError
from wellkept.server.access import EVERYTHING
from wellkept.server.access.headers import NAMESPACE, SESSION, read_header, session_of
from wellkept.server.mcp.authorised_store import StoreAccess
from wellkept.server.rest.store_of_request import RequestStores


def sent(*pairs: tuple[str, str]) -> Headers:
    """Headers as a server hands them on."""
    return Headers(raw=[(name.lower().encode(), value.encode()) for name, value in pairs])


@pytest.mark.parametrize(
    ("pairs", "namespace"),
    [
        ([], "home"),
        ([(NAMESPACE, "acme/a")], "acme/a"),
        ([(NAMESPACE, " acme / a ")], "acme/a"),
        ([(NAMESPACE, "acme/%E5%BC%A0")], "acme/张"),
        ([(NAMESPACE, "acme/张")], "acme/张"),
        ([(NAMESPACE, "acme/%2e%2e/b")], "acme/../b"),
        ([(NAMESPACE, "")], None),
        ([(NAMESPACE, "acme//a")], None),
        ([(NAMESPACE, "acme/a%00")], None),
        ([(NAMESPACE, "acme/a"), (NAMESPACE, "acme/b")], None),
        ([(NAMESPACE, "acme/a"), (SESSION, "s" * 600)], None),
        ([(NAMESPACE, "acme/a"), (SESSION, "a%0Ab")], None),
    ],
)
def test_rest_and_mcp_reach_the_same_namespace_by_the_same_header(
    pairs: list[tuple[str, str]], namespace: str | None
) -> None:
    headers = sent(*pairs)
    with wellkept.open("memory:", embedder="hashing", namespace="home") as store:
        for reach in (
            lambda: RequestStores(store).store_of(headers, EVERYTHING, "read"),
            lambda: StoreAccess(opened=lambda: store, grant=lambda: EVERYTHING).store(headers, "read"),
        ):
            if namespace is None:
                with pytest.raises(WellkeptError):
                    reach()
            else:
                assert reach().namespace == namespace


def test_two_conversations_with_long_names_are_two() -> None:
    """A text handed out in one session is news in the other, even if their names differ only at the end."""
    assert session_of(sent((SESSION, "s" * 300 + "a"))) != session_of(sent((SESSION, "s" * 300 + "b")))


def test_a_header_may_come_from_any_mapping() -> None:
    assert read_header({SESSION: "plan%20b"}, SESSION) == "plan b"
    assert read_header({SESSION: "plan%20b"}, SESSION, escaped=False) == "plan%20b"
    assert read_header({SESSION: "张"}, SESSION) == "张"
    assert read_header({}, SESSION) is None
    with pytest.raises(InvalidField, match="control"):
        read_header({SESSION: "a%1Bb"}, SESSION)
