"""Visitors of the page: a browser without scripts, and what it finds on a page."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from fastapi.testclient import TestClient

import wellkept
from wellkept.server.access import TokenKeeper
from wellkept.server.page import Sessions, with_page
from wellkept.server.rest import create_app

ROOMS = ("inbox", "memories", "journal", "ask", "health", "errors")


@dataclass
class Form:
    """A form with its hidden fields, and the label of its button."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    label: str = ""


class Page(HTMLParser):
    """What a browser makes of a page: its tags, its forms and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.forms: list[Form] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag == "form":
            self.forms.append(Form(found.get("action") or ""))
        if tag == "input" and self.forms and found.get("type") == "hidden":
            self.forms[-1].fields[found.get("name") or ""] = found.get("value") or ""

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.forms and self.tags[-1][0] == "button" and not self.forms[-1].label:
            self.forms[-1].label = data.strip()

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


class Browser:
    """A browser that runs no scripts."""

    def __init__(self, http: TestClient) -> None:
        self.http = http

    def get(self, path: str, status: int = 200, **query: Any) -> Page:
        answer = self.http.get(f"/page/{path}", params=query or None)
        assert answer.status_code == status, answer.text
        return Page(answer.text)

    def press(self, page: Page, label: str, status: int = 200, **more: Any) -> Page:
        """Press the first button with this label."""
        form = next(form for form in page.forms if form.label == label)
        answer = self.http.post(form.action, data={**form.fields, **more})
        assert answer.status_code == status, answer.text
        return Page(answer.text)

    def sign_in(self, secret: str, status: int = 200) -> Page:
        answer = self.http.post("/page/login", data={"token": secret})
        assert answer.status_code == status, answer.text
        return Page(answer.text)


@contextmanager
def browsing(
    store: wellkept.MemoryStore, tokens: TokenKeeper | None = None, sessions: Sessions | None = None
) -> Iterator[Browser]:
    """A browser at the page of a store."""
    app = with_page(create_app(store, tokens=tokens), store, tokens=tokens, sessions=sessions)
    with TestClient(app, base_url="http://127.0.0.1:8642", raise_server_exceptions=False) as http:
        yield Browser(http)


def inline(text: str) -> list[str]:
    """What a strict policy would refuse: inline scripts, styles and handlers, and addresses elsewhere."""
    page = Page(text)
    found = [f"<{tag}>" for tag, attrs in page.tags if tag in ("style", "iframe", "object", "embed", "base")]
    found += [f"<{tag} src={attrs.get('src')}>" for tag, attrs in page.tags if tag == "script" and "src" not in attrs]
    for tag, attrs in page.tags:
        for name, value in attrs.items():
            if name == "style" or name.startswith("on"):
                found.append(f"<{tag} {name}>")
            if name in ("href", "src", "action") and re.match(r"\s*(?!/page/|#)", value or "") and value:
                found.append(f"<{tag} {name}={value}>")
    return found


def shown(text: str) -> str:
    """A text as it stands in HTML."""
    return html.escape(text, quote=True)
