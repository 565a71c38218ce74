"""One visit of the page: whose it is, which namespace it looks at, and how it is answered.

Whatever a room reads or decides is an operation of the table, run with the scope of its row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from anyio import CapacityLimiter
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from wellkept import __version__
from wellkept.core.records.codec import iso
from wellkept.core.records.explain import told
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import InvalidField
from wellkept.operations.registry import call, operation
from wellkept.server.access import Grant, allowed
from wellkept.server.access.grants import Scope
from wellkept.server.page import texts
from wellkept.server.page.jobs import Jobs
from wellkept.server.page.plans import Plans
from wellkept.server.page.sessions import Sessions
from wellkept.server.rest.request_checks import PAGE_PATH
from wellkept.server.rest.store_of_request import NAMESPACE, RequestStores
from wellkept.types.showing import count_of, short_id

PAGE = 50
"""Items on one page of a list."""
UNDO_OFFERED = timedelta(minutes=1)
"""How long a decision is shown with its undo; the journal offers it for ever."""
_MOST_FIELDS = 2_000
_MOST_NAMESPACES = 500
ROOMS = (
    ("inbox", "Inbox"),
    ("memories", "Memories"),
    ("journal", "Journal"),
    ("ask", "Ask"),
    ("health", "Health"),
    ("errors", "Error rate"),
)
_FILTERS: Mapping[str, Callable[..., Any]] = {
    "harmless": texts.harmless,
    "clipped": texts.clipped,
    "day": texts.day,
    "minute": texts.minute,
    "percent": texts.percent,
    "likely": texts.likely,
    "headline": texts.headline,
    "outcome": texts.outcome_words,
    "segment": texts.path_of,
    "short": short_id,
    "told": told,
}


def environment() -> Environment:
    """The templates: everything that they print is escaped, and a misspelled name is an error."""
    made = Environment(
        loader=PackageLoader("wellkept.server.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(_FILTERS)
    made.globals.update(sides=texts.sides, count_of=count_of, rooms=ROOMS, version=__version__, whole=texts.WHOLE)
    return made


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What all visits share.

    Attributes:
        stores: Opens the store of a request.
        sessions: The sessions of browsers.
        secured: Whether a session is needed.
        plans: Plans that somebody has looked at.
        jobs: Long work.
    """

    stores: RequestStores
    sessions: Sessions
    secured: bool
    plans: Plans = field(default_factory=Plans)
    jobs: Jobs = field(default_factory=Jobs)
    templates: Environment = field(default_factory=environment)
    lookups: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(8))

    def error_page(self, status: int, what: str, todo: str) -> str:
        """An error as a page."""
        shown = {"status": status, "what": what, "todo": todo}
        return self.templates.get_template("error.html").render(shown)


@dataclass(frozen=True)
class Visit:
    """One request of a room.

    Attributes:
        frame: What all visits share.
        request: The request.
        grant: What its session permits.
        session: Name of its session; empty on a server without tokens.
        raw: The body, the fields of a form.
    """

    frame: Frame
    request: Request
    grant: Grant
    session: str = ""
    raw: bytes = b""

    # ----------------------------------------------------------------------------------------
    # What was asked

    @cached_property
    def form(self) -> Mapping[str, Sequence[str]]:
        """The fields of the form."""
        try:
            return parse_qs(self.raw.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError as error:
            raise InvalidField("cannot be read", where="form", todo="Load the page again") from error

    def sent(self, name: str) -> str:
        """One field of the form; empty when it is missing."""
        return (self.form.get(name) or [""])[0].strip()

    def asked(self, name: str) -> str:
        """One parameter of the address; empty when it is missing."""
        return self.request.query_params.get(name, "").strip()

    def number(self, name: str) -> int:
        """A number of the address; 0 when it is missing or none."""
        text = self.asked(name)
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else 0

    @property
    def namespace(self) -> str:
        """The namespace that the address names, otherwise the one that the token opens first."""
        return self.asked("ns") or self.namespaces[0]

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the token opens, the store's own first; of patterns those that hold something."""
        home = self.frame.stores.home(self.grant)
        plain = [pattern for pattern in self.grant.namespaces if "*" not in pattern.split("/")]
        own = [home] if allowed(self.grant, home, "read") else []
        found = dict.fromkeys([*own, *plain, *self.frame.stores.namespaces(self.grant)])
        return tuple(found)[:_MOST_NAMESPACES] or (home,)

    # ----------------------------------------------------------------------------------------
    # What is done

    def may(self, scope: Scope) -> bool:
        """Whether the session may do this in the namespace."""
        return allowed(self.grant, self.namespace, scope)

    def store(self, scope: Scope = "read") -> MemoryStore:
        """The store of the namespace.

        Raises:
            NotAllowed: The token does not open it.
        """
        named = Headers({NAMESPACE: quote(self.namespace, safe="")})
        return self.frame.stores.store_of(named, self.grant, scope)

    def run(self, name: str, **fields: Any) -> Any:
        """Run an operation, with the scope of its row.

        Raises:
            NotAllowed: The token does not allow it.
            WellkeptError: Raised by the operation.
        """
        return call(self.store(operation(name).scope), name, fields)

    # ----------------------------------------------------------------------------------------
    # How it is answered

    def at(self, room: str, **query: Any) -> str:
        """The address of a room in this namespace."""
        named = {"ns": self.namespace, **{name: value for name, value in query.items() if value not in ("", None, 0)}}
        return f"{PAGE_PATH}/{room}?{urlencode(named)}"

    def show(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Render a room."""
        room = template.partition(".")[0]
        shown = {
            "room": values.pop("room", room),
            "visit": self,
            "at": self.at,
            "form_token": self.frame.sessions.form_token(self.session),
            "done": self._done(),
            "here": f"{self.request.url.path}?{self.request.url.query}",
            **values,
        }
        text = self.frame.templates.get_template(template).render(shown)
        return Response(text, status_code=status, media_type="text/html")

    def back(self, done: int = 0, note: str = "") -> Response:
        """Return to the page that the form was on; `done` is the journal entry that can be undone there."""
        target = self.sent("back")
        path, _, query = target.partition("?")
        if not path.startswith(f"{PAGE_PATH}/") or path.startswith("//") or "\\" in path:
            path, query = f"{PAGE_PATH}/inbox", urlencode({"ns": self.namespace})
        kept = {name: values for name, values in parse_qs(query).items() if name not in ("done", "note")}
        news = {name: value for name, value in (("done", done), ("note", note)) if value}
        return RedirectResponse(f"{quote(path)}?{urlencode({**kept, **news}, doseq=True)}", status_code=303)

    def _done(self) -> Any:
        """The journal entry that was just made, to be shown for a minute with a button that takes it back."""
        number = self.number("done")
        if not number:
            return None
        entries = self.run("journal", after=number - 1, limit=1).entries
        found = entries[0] if entries and entries[0].seq == number else None
        since = iso(self.store()._ctx.clock() - UNDO_OFFERED)
        return found if found is not None and found.at >= since else None


def memories_by_id(visit: Visit, ids: Sequence[str]) -> dict[str, Any]:
    """Memories of any status by their id; those that do not exist are missing."""
    found: dict[str, Any] = {}
    wanted = list(dict.fromkeys(ids))
    statuses = ["active", "superseded", "archived", "erased", "wording"]
    for start in range(0, len(wanted), PAGE):
        some = wanted[start : start + PAGE]
        rows = visit.run("list", where={"ids": some, "statuses": statuses}, limit=len(some)).memories
        found |= {row.id: row for row in rows}
    return found
