"""Who sees what: signing in, tokens that never see each other, forms of other sites, links that work once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import wellkept
from surfaces.page.visitors import ROOMS, Browser, browsing
from wellkept.server.access import Tokens
from wellkept.server.access.owner import OwnerToken
from wellkept.server.page import Sessions
from wellkept.server.page.sessions import IDLE_SECONDS, INVITATION_SECONDS, session_name


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "page.db.tokens")


@pytest.fixture
def visitor(store: wellkept.MemoryStore, tokens: Tokens) -> Iterator[Callable[..., Browser]]:
    """Signs somebody in who may do this in these namespaces."""
    with ExitStack() as stack:

        def made(name: str, *namespaces: str, scope: str = "admin") -> Browser:
            secret = tokens.create(name=name, namespaces=namespaces, scopes=[scope])[1]
            browser = stack.enter_context(browsing(store, tokens))
            browser.sign_in(secret)
            return browser

        yield made


def test_without_a_session_every_room_asks_for_a_token(store: wellkept.MemoryStore, tokens: Tokens) -> None:
    tokens.create(name="ci", namespaces=["acme"], scopes=["read"])
    with browsing(store, tokens) as browser:
        for room in ROOMS:
            answer = browser.http.get(f"/page/{room}", follow_redirects=False)
            assert answer.status_code == 303 and answer.headers["location"].startswith("/page/login?next=")
        assert browser.http.post("/page/do/undo", data={"entry": "1"}, follow_redirects=False).status_code == 303


@pytest.mark.parametrize("secret", ["", "wk_wrong", "x" * 10_000, "\u202e"])
def test_a_wrong_token_opens_nothing(store: wellkept.MemoryStore, tokens: Tokens, secret: str) -> None:
    tokens.create(name="ci", namespaces=["acme"], scopes=["read"])
    with browsing(store, tokens) as browser:
        assert "not valid" in browser.sign_in(secret, status=401).text
        assert browser.http.get("/page/inbox", follow_redirects=False).status_code == 303


def test_a_sign_in_with_many_fields_is_refused_like_any_other(store: wellkept.MemoryStore, tokens: Tokens) -> None:
    tokens.create(name="ci", namespaces=["acme"], scopes=["read"])
    with browsing(store, tokens) as browser:
        fields = {"token": "wk_wrong", **{f"field{number}": "x" for number in range(40)}}
        assert browser.http.post("/page/login", data=fields).status_code in (400, 401)


@pytest.mark.parametrize(
    "cookies",
    ["foo; wellkept_8642=abc", "wellkept_8642=abc; foo", "wellkept_8642=abc; path", 'a={"x": 1}; wellkept_8642=abc'],
)
def test_a_cookie_of_another_program_does_not_hide_the_session(cookies: str) -> None:
    assert session_name({"host": "127.0.0.1:8642", "cookie": cookies}) == "abc"


def test_a_script_of_a_session_that_ended_is_led_to_sign_in(store: wellkept.MemoryStore, tokens: Tokens) -> None:
    tokens.create(name="ci", namespaces=["acme"], scopes=["read"])
    with browsing(store, tokens) as browser:
        answer = browser.http.get("/page/memories?q=tea", headers={"HX-Request": "true"}, follow_redirects=False)
        assert (answer.status_code, answer.text) == (401, "")
        assert answer.headers["hx-redirect"] == "/page/login?next=%2Fpage%2Fmemories%3Fq%3Dtea"


def test_one_token_cannot_end_the_sessions_of_another() -> None:
    sessions = Sessions()
    victim = sessions.enter("mine")
    for _ in range(1_100):
        sessions.enter("other")
    assert sessions.secret_of(victim) == "mine"


def test_a_session_leads_back_to_the_page_that_was_wanted_but_to_no_other_site(
    store: wellkept.MemoryStore, tokens: Tokens
) -> None:
    secret = tokens.create(name="ci", namespaces=["acme"], scopes=["read"])[1]
    with browsing(store, tokens) as browser:
        for wanted, target in (
            ("/page/journal?ns=acme", "/page/journal?ns=acme"),
            ("https://example.org/", "/page/inbox"),
            ("//example.org/page/", "/page/inbox"),
            ("/page/\\example.org", "/page/inbox"),
        ):
            answer = browser.http.post("/page/login", data={"token": secret, "next": wanted}, follow_redirects=False)
            assert answer.headers["location"] == target


def test_the_cookie_holds_no_token_and_no_script_or_other_site_can_use_it(
    store: wellkept.MemoryStore, tokens: Tokens
) -> None:
    secret = tokens.create(name="ci", namespaces=["acme"], scopes=["read"])[1]
    with browsing(store, tokens) as browser:
        cookie = browser.http.post("/page/login", data={"token": secret}, follow_redirects=False).headers["set-cookie"]
        assert secret not in cookie
        assert {"HttpOnly", "Path=/page", "SameSite=strict"} <= set(cookie.split("; "))
        https = {"origin": "https://127.0.0.1:8642"}
        cookie = browser.http.post("/page/login", data={"token": secret}, headers=https, follow_redirects=False)
        assert "Secure" in cookie.headers["set-cookie"]


def test_a_session_opens_the_page_only_and_not_rest(visitor: Callable[..., Browser]) -> None:
    browser = visitor("mara", "acme")
    browser.get("inbox")
    raw = browser.http.cookies.get("wellkept_8642", path="/page")
    for path in ("/v1/memories", "/v1/stats", "/metrics"):
        assert browser.http.get(path, headers={"cookie": f"wellkept_8642={raw}"}).status_code == 401


def test_two_tokens_never_see_each_other(store: wellkept.MemoryStore, visitor: Callable[..., Browser]) -> None:
    acme, other = store.in_namespace("acme"), store.in_namespace("zebra")
    for one, word in ((acme, "pear"), (other, "plum")):
        one.remember(f"The {word} limit is 0.85.", kind="lesson")
        one.remember(f"The {word} limit is 0.95.", kind="lesson")
    foreign = other.list()[0].id
    key = other.conflicts()[0].key
    browser = visitor("mara", "acme")
    for room in (*ROOMS, "memories?q=plum", "ask?q=plum", "health/runs"):
        answer = browser.http.get(f"/page/{room}")
        assert answer.status_code == 200
        assert "plum limit" not in answer.text and "zebra" not in answer.text
        browser.get(room.partition("?")[0], status=403, ns="zebra")
    browser.get(f"memories/{foreign}", status=404)
    form = browser.get("inbox").forms
    fields = next(one.fields for one in form if "resolve" in one.action)
    for space, status in (("zebra", 403), ("acme", 404)):
        answer = browser.http.post(f"/page/do/resolve?ns={space}", data={**fields, "key": key})
        assert answer.status_code == status
    assert len(other.conflicts()) == 1


def test_namespaces_are_offered_as_far_as_the_token_opens_them(
    store: wellkept.MemoryStore, visitor: Callable[..., Browser]
) -> None:
    for name in ("acme/a", "acme/b", "beta/c"):
        store.in_namespace(name).remember("Tea is upstairs.", kind="note")
    page = visitor("mara", "acme/*").get("memories")
    offered = [attrs["value"] for tag, attrs in page.tags if tag == "option" and "/" in (attrs.get("value") or "")]
    assert offered == ["acme/a", "acme/b"] and "Tea is upstairs." in page.text


@pytest.mark.parametrize(("scope", "buttons", "status"), [("read", 0, 403), ("write", 1, 303)])
def test_a_token_does_on_the_page_what_its_scope_allows(
    store: wellkept.MemoryStore, visitor: Callable[..., Browser], scope: str, buttons: int, status: int
) -> None:
    memory_id = store.in_namespace("acme").remember("Tea is upstairs.", kind="note").id
    browser = visitor("mara", "acme", scope=scope)
    page = browser.get(f"memories/{memory_id}")
    assert [form.label for form in page.forms].count("Forget") == buttons
    token = page.forms[0].fields["form_token"]
    sent = {"form_token": token, "memory_id": memory_id}
    answer = browser.http.post("/page/do/forget?ns=acme", data=sent, follow_redirects=False)
    assert answer.status_code == status
    assert browser.http.post("/page/do/erase?ns=acme", data={**sent, "confirmation": "erase"}).status_code == 403
    assert browser.http.post("/page/health/plan?ns=acme", data=sent).status_code == 403


def test_a_form_of_another_site_or_session_does_nothing(
    store: wellkept.MemoryStore, visitor: Callable[..., Browser]
) -> None:
    acme = store.in_namespace("acme")
    entry = acme.remember("Tea is upstairs.", kind="note").entry
    mine, theirs = visitor("mara", "acme"), visitor("jonas", "acme")
    good = mine.get("journal").forms[-1].fields["form_token"]
    foreign = theirs.get("journal").forms[-1].fields["form_token"]
    for token in ("", "x", foreign):
        sent = {"form_token": token, "entry": str(entry)}
        assert mine.http.post("/page/do/undo?ns=acme", data=sent).status_code == 403
    sent = {"form_token": good, "entry": str(entry)}
    for headers in ({"origin": "https://example.org"}, {"sec-fetch-site": "cross-site"}, {"host": "example.org"}):
        assert mine.http.post("/page/do/undo?ns=acme", data=sent, headers=headers).status_code == 403
    assert len(acme.list()) == 1
    assert mine.http.post("/page/do/undo?ns=acme", data=sent, follow_redirects=False).status_code == 303
    assert acme.list() == () and acme.journal()[-1].actor == "mara"


def test_a_form_on_a_server_without_tokens_must_come_from_the_page_too(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    store.remember("Tea is upstairs.", kind="note")
    assert browser.http.post("/page/do/undo", data={"entry": "1"}).status_code == 403
    assert len(store.list()) == 1


def test_a_revoked_token_ends_its_session_at_once(store: wellkept.MemoryStore, tokens: Tokens) -> None:
    token_id, secret = tokens.create(name="ci", namespaces=["acme"], scopes=["read"])
    with browsing(store, tokens) as browser:
        browser.sign_in(secret)
        browser.get("inbox")
        tokens.revoke(token_id)
        assert browser.http.get("/page/inbox", follow_redirects=False).status_code == 303


def test_signing_out_ends_the_session(visitor: Callable[..., Browser]) -> None:
    browser = visitor("mara", "acme")
    assert "Sign in" in browser.press(browser.get("inbox"), "Sign out").text
    assert browser.http.get("/page/inbox", follow_redirects=False).status_code == 303


def test_a_link_of_the_owner_works_once(store: wellkept.MemoryStore) -> None:
    owner, sessions = OwnerToken("mara"), Sessions()
    code = sessions.invite(owner.secret)
    with browsing(store, owner, sessions) as browser, browsing(store, owner, sessions) as second:
        browser.get("enter", code=code)
        browser.get("health")
        assert "once" in second.get("enter", status=403, code=code).text
        assert second.http.get("/page/inbox", follow_redirects=False).status_code == 303
        assert second.http.get("/v1/memories").status_code == 401


def test_sessions_and_invitations_end_with_time() -> None:
    now = [0.0]
    sessions = Sessions(clock=lambda: now[0])
    name, code = sessions.enter("secret"), sessions.invite("secret")
    now[0] += INVITATION_SECONDS
    assert sessions.accept(code) == ""
    now[0] += IDLE_SECONDS - INVITATION_SECONDS - 1
    assert sessions.secret_of(name) == "secret"
    now[0] += IDLE_SECONDS - 1  # used in between, so it lasts longer
    assert sessions.secret_of(name) == "secret"
    now[0] += IDLE_SECONDS
    assert sessions.secret_of(name) == ""
