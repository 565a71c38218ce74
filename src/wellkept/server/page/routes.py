"""The routes of the page: its rooms, signing in and out, and its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import TypeAlias
from urllib.parse import urlencode

from anyio import to_thread
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import AlreadyAnswered, IllegalTransition, InvalidField, WellkeptError
from wellkept.server.access import EVERYTHING, TokenKeeper
from wellkept.server.page import acts, ask, error_rate, health, inbox, journal, memories, memory, work
from wellkept.server.page.frame import Frame, Visit
from wellkept.server.page.layer import PageLayer
from wellkept.server.page.sessions import Sessions, cookie_name, session_name
from wellkept.server.rest.problems import status_of
from wellkept.server.rest.request_checks import PAGE_PATH, grant_of
from wellkept.server.rest.store_of_request import NotAllowed, RequestStores, UnknownNamespace

Room: TypeAlias = Callable[[Visit], Response]
_LOOKS: Mapping[str, Room] = {
    "/inbox": inbox.show,
    "/inbox/batch": inbox.preview,
    "/memories": memories.show,
    "/memories/{memory_id}": memory.show,
    "/journal": journal.show,
    "/ask": ask.show,
    "/health": health.show,
    "/health/runs": health.runs,
    "/health/plan/{plan}": health.look,
    "/work/{job}": work.show,
    "/errors": error_rate.show,
    "/errors/pairs": error_rate.pairs,
}
_ACTS: Mapping[str, Room] = {
    "/do/{act}": acts.do,
    "/inbox/batch": inbox.batch,
    "/health/plan": health.plan,
    "/health/apply": health.apply,
    "/health/take-back": health.take_back,
    "/health/check": health.check,
    "/ask": ask.beside,
    "/errors": error_rate.judged,
}
_FILES = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_SETTLED = "It was decided already, perhaps in another window. What stands now is shown on its own page."


def with_page(
    rest: FastAPI, store: MemoryStore, *, tokens: TokenKeeper | None = None, sessions: Sessions | None = None
) -> ASGIApp:
    """A REST application with the page.

    Args:
        rest: The application, with the same tokens.
        store: The store.
        tokens: The access tokens; None where none are needed.
        sessions: The sessions of browsers; by default none is open yet.
    """
    frame = Frame(stores=RequestStores(store), sessions=sessions or Sessions(), secured=tokens is not None)
    rest.router.routes.extend(_routes(frame, tokens))
    return PageLayer(rest, sessions=frame.sessions, error_page=frame.error_page)


def _routes(frame: Frame, tokens: TokenKeeper | None) -> list[Route]:
    made = [
        *(Route(path, _to_inbox, methods=["GET"]) for path in ("/", PAGE_PATH, f"{PAGE_PATH}/")),
        *(Route(f"{PAGE_PATH}/{name}", partial(_file, name), methods=["GET"]) for name in _FILES),
        Route(f"{PAGE_PATH}/login", partial(_login, frame, tokens), methods=["GET", "POST"]),
        Route(f"{PAGE_PATH}/enter", partial(_enter, frame), methods=["GET"]),
        Route(f"{PAGE_PATH}/logout", partial(_logout, frame), methods=["POST"]),
        *(Route(PAGE_PATH + path, partial(_look, frame, room), methods=["GET"]) for path, room in _LOOKS.items()),
        *(Route(PAGE_PATH + path, partial(_act, frame, room), methods=["POST"]) for path, room in _ACTS.items()),
    ]
    for route in made:
        route.include_in_schema = False
        route.name = "page"  # one name in log and metrics
    return made


# --------------------------------------------------------------------------------------------
# Rooms


async def _look(frame: Frame, room: Room, request: Request) -> Response:
    """Show a room. The engine is synchronous, so it runs in a thread."""
    return await to_thread.run_sync(_answered, frame, room, _visit(frame, request))


async def _act(frame: Frame, room: Room, request: Request) -> Response:
    """Do what a form asks, if the form comes from a page of this session."""
    visit = _visit(frame, request, await request.body())
    return await to_thread.run_sync(_answered, frame, partial(_from_own_page, room), visit)


def _from_own_page(room: Room, visit: Visit) -> Response:
    if not visit.frame.sessions.is_form_token(visit.session, visit.sent("form_token")):
        raise NotAllowed("Load the page again and repeat what you did: this form was not made by your session")
    return room(visit)


def _visit(frame: Frame, request: Request, raw: bytes = b"") -> Visit:
    name = session_name(request.headers) if frame.secured else ""
    return Visit(frame, request, grant_of(request.scope.get("state", {})), name, raw)


def _answered(frame: Frame, room: Room, visit: Visit) -> Response:
    """Run a room; an error becomes a page that says what to do."""
    try:
        visit.store()  # refuses a namespace that the token does not open, whatever the room reads
        return room(visit)
    except NotAllowed as error:
        todo = error.todo or "Choose another namespace, or sign in with a token that opens this one with this scope"
        status, what = 403, "Your token does not allow this here"
    except (AlreadyAnswered, IllegalTransition) as error:
        status, what, todo = 409, error.what, error.todo or _SETTLED
    except WellkeptError as error:
        status = 404 if isinstance(error, UnknownNamespace) else status_of(error)
        if status >= 500:
            raise  # logged and shortened by the handler of the application
        what, todo = error.what, error.todo
    return Response(frame.error_page(status, what, todo), status_code=status, media_type="text/html")


# --------------------------------------------------------------------------------------------
# Signing in and out


async def _login(frame: Frame, tokens: TokenKeeper | None, request: Request) -> Response:
    """Ask for a token, and begin a session for it."""
    if not frame.secured or tokens is None:
        return RedirectResponse(f"{PAGE_PATH}/inbox", status_code=303)
    wrong = False
    if request.method == "POST":
        form = Visit(frame, request, EVERYTHING, raw=await request.body())
        secret = form.sent("token")
        known = await to_thread.run_sync(tokens.grant_of, secret, limiter=frame.lookups) if secret else None
        if known is not None:
            target = _own(form.sent("next"))
            return _entered(request, frame.sessions.enter(secret), target)
        wrong = True
    following = _own(request.query_params.get("next", ""))
    text = frame.templates.get_template("login.html").render(wrong=wrong, following=following)
    return Response(text, status_code=401 if wrong else 200, media_type="text/html")


async def _enter(frame: Frame, request: Request) -> Response:
    """Begin the session of an invitation, as `wellkept open` makes it."""
    name = frame.sessions.accept(request.query_params.get("code", ""))
    if not name:
        what = "This link was used already, or is too old"
        text = frame.error_page(403, what, "Run `wellkept open` again: each link works once, within two minutes")
        return Response(text, status_code=403, media_type="text/html")
    return _entered(request, name, f"{PAGE_PATH}/inbox")


async def _logout(frame: Frame, request: Request) -> Response:
    visit = _visit(frame, request, await request.body())
    if not frame.sessions.is_form_token(visit.session, visit.sent("form_token")):
        raise InvalidField("was not made by this session", where="form", todo="Load the page again")
    frame.sessions.leave(visit.session)
    answer = RedirectResponse(f"{PAGE_PATH}/login", status_code=303)
    answer.delete_cookie(cookie_name(request.headers.get("host", "")), path=PAGE_PATH)
    return answer


def _entered(request: Request, name: str, target: str) -> Response:
    answer = RedirectResponse(target, status_code=303)
    answer.set_cookie(
        cookie_name(request.headers.get("host", "")),
        name,
        path=PAGE_PATH,
        httponly=True,
        samesite="strict",
        secure=request.headers.get("origin", "").startswith("https:"),
    )
    return answer


def _own(target: str) -> str:
    """A target on the page itself; the inbox for any other."""
    inside = target.startswith(f"{PAGE_PATH}/") and not set("\\\r\n") & set(target)
    return target if inside else f"{PAGE_PATH}/inbox"


# --------------------------------------------------------------------------------------------
# Files


async def _to_inbox(request: Request) -> Response:
    named = request.query_params.get("ns")
    query = f"?{urlencode({'ns': named})}" if named else ""
    return RedirectResponse(f"{PAGE_PATH}/inbox{query}", status_code=303)


async def _file(name: str, request: Request) -> Response:
    """A file of the page; it is small, and may be kept for an hour."""
    raw = files("wellkept.server.page").joinpath("static", name).read_bytes()
    return Response(raw, media_type=_FILES[name], headers={"Cache-Control": "public, max-age=3600"})
