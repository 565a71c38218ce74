"""The common part of both clients: calls as values, their HTTP requests, and retries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cache
from typing import Any, Generic, Self, TypeVar
from urllib.parse import quote

import httpx2

from wellkept.client.failures import PASSING, error_of, not_ours, unreachable
from wellkept.errors import ConfigError, InvalidField, NotFound
from wellkept.frozen import frozen
from wellkept.parsing import parsed_json
from wellkept.types import Json

T = TypeVar("T")
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0
NAMESPACE, SESSION, KEY = "Wellkept-Namespace", "Wellkept-Session", "Idempotency-Key"
QUEUE = "Wellkept-Queue"


@frozen(kw_only=True)
class Call(Generic[T]):
    """One request and the reader of its answer.

    Attributes:
        method / path: HTTP method and path; the path is percent-encoded.
        query: Query parameters of GET and DELETE.
        body: JSON body of the other methods; None for no body.
        read: Converts the answer to the library's value.
        repeatable: Whether it is safe to send it again when its arrival is unknown.
        keyed: Whether an idempotency key makes it repeatable.
        may_wait: Whether a `deferred` block may queue it.
        bare: Whether an error is raised as an HTTP error, without conversion to a `WellkeptError`.
    """

    method: str
    path: str
    read: Callable[[Json], T]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Json = None
    repeatable: bool = False
    keyed: bool = False
    may_wait: bool = False
    bare: bool = False


@frozen(kw_only=True)
class Setting:
    """The target of a client's calls, with its identity and its retry settings.

    Attributes:
        url: Address of the server, without `/v1`.
        host: Host name shown in errors.
        retries: Maximum number of retries per call.
        timeout: Seconds for each answer, from the first byte sent to the last received.
        headers: Headers of every request.
    """

    url: str
    host: str
    retries: int
    timeout: float
    headers: Mapping[str, str]

    def bound(self, **headers: str) -> Setting:
        """A copy with further headers."""
        return replace(self, headers={**self.headers, **headers})


class Bound:
    """Base of the clients: the setting of one client, which shares its connections with clients bound to it."""

    _setting: Setting

    def in_namespace(self, name: str) -> Self:
        """A client of the same server for another namespace; both share their connections."""
        return self._bound(self._setting.bound(**{NAMESPACE: header(name)}))

    def in_session(self, name: str) -> Self:
        """A client of the same server for a session; both share their connections."""
        return self._bound(self._setting.bound(**{SESSION: header(name)}))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._setting.host!r})"  # neither the token nor a password in the URL

    def _bound(self, to: Setting) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _setting=to)
        return made


def setting(url: str, *, token: str, namespace: str, session: str, retries: int, timeout: float) -> Setting:
    """Build the setting of a new client.

    Raises:
        ConfigError: The address is not an HTTP URL, or `retries` is out of range.
    """
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, ValueError):
        raise ConfigError("this is not a URL", where="url", todo="Use http://127.0.0.1:8000") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError("the address must begin with http:// or https://", where="url", todo="Check it")
    times: Any = retries  # a caller may pass anything
    if isinstance(times, bool) or not isinstance(times, int) or not 0 <= times <= 20:
        raise ConfigError("is not a number from 0 to 20", where="retries", todo="Use 2")
    headers = {"Accept": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    made = Setting(
        url=url.rstrip("/").removesuffix("/v1"), host=parsed.host, retries=retries, timeout=timeout, headers=headers
    )
    if namespace:
        made = made.bound(**{NAMESPACE: header(namespace)})
    return made.bound(**{SESSION: header(session)}) if session else made


def header(text: str) -> str:
    """A header value; percent-encoded when it is not plain ASCII."""
    return quote(text, safe="/ -_.~!$&'()*+,;=:@#[]{}|^<>?\"")


def part(text: object) -> str:
    """Encode a text as one segment of a path.

    Raises:
        InvalidField: It is not a text, or it is empty.
        NotFound: It would resolve to another path.

    Example:
        >>> part("../a b")
        '..%2Fa%20b'
    """
    if not isinstance(text, str) or not text:
        raise InvalidField(f"{str(text)[:40]!r} is not an id", where="id", todo="List the memories to see their ids")
    if text in (".", ".."):
        raise NotFound(f"no memory {text!r}", where="id", todo="List the memories to see their ids")
    return quote(text.encode("utf-8", "replace"), safe="")


def request(call: Call[Any], to: Setting) -> dict[str, Any]:
    """The arguments of an HTTP request; a keyed call gets a key that all its attempts share.

    Raises:
        InvalidField: The body has no JSON form.
    """
    headers = dict(to.headers)
    body = call.body
    if call.keyed and not body.get("idempotency_key"):
        body = {name: value for name, value in body.items() if name != "idempotency_key"}
        headers[KEY] = new_key()
    sent: dict[str, Any] = {"method": call.method, "url": to.url + call.path, "headers": headers}
    if call.query:
        sent["params"] = dict(call.query)
    if body is not None:
        headers["Content-Type"] = "application/json"
        sent["content"] = _json(body)
    return sent


class Tries:
    """Counts the attempts of one call and decides whether and when to retry."""

    def __init__(self, call: Call[Any], to: Setting) -> None:
        self._repeatable = call.repeatable or call.keyed
        self._left = to.retries
        self._host = to.host
        self._turn = 0

    def after(self, came: httpx2.Response | httpx2.HTTPError) -> httpx2.Response | float:
        """Return the final answer, or the seconds to wait before the next attempt.

        A request that did not reach the server can always be sent again, as can a request rejected by the rate limit
        (429), which was not processed.

        Raises:
            StorageError: No answer arrived, and no attempt is left.
        """
        match came:
            case httpx2.Response():
                again = came.status_code == 429 or (came.status_code in PASSING and self._repeatable)
            case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.PoolTimeout():
                again = True
            case _:
                again = isinstance(came, httpx2.TransportError) and self._repeatable
        if again and self._left > 0:
            self._left -= 1
            self._turn += 1
            return pause(self._turn - 1, came if isinstance(came, httpx2.Response) else None)
        if isinstance(came, httpx2.Response):
            return came
        raise unreachable(came, self._host)


def pause(turn: int, answer: httpx2.Response | None) -> float:
    """Seconds before the next attempt: the server's `Retry-After` within bounds, otherwise exponential backoff."""
    asked = answer.headers.get("retry-after", "") if answer is not None else ""
    if asked.isascii() and asked.isdigit():
        return min(float(asked[:9]), LONGEST_PAUSE)
    return min(FIRST_PAUSE * 2.0**turn, LONGEST_PAUSE)


def outcome(call: Call[T], response: httpx2.Response, host: str) -> T:
    """The value of a successful answer.

    Raises:
        WellkeptError: The server answered with an error.
        httpx2.HTTPStatusError: The same for a bare call.
    """
    if call.bare:
        response.raise_for_status()
    if not response.is_success:
        raise error_of(response)
    try:
        return call.read(parsed_json(response.content))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise not_ours(host) from error


def _json(body: Json) -> bytes:
    try:
        # ASCII, so that a lone surrogate reaches the server, which rejects it and names the field.
        return json.dumps(body, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField(f"cannot be sent as JSON: {error}", where="body", todo="Use text, numbers, lists") from error


@cache
def _ids() -> Callable[[], str]:
    from wellkept.engine.base.context import Uuid7  # the engine generates all random ids

    return Uuid7()


def new_key() -> str:
    """A new random key."""
    return f"client-{_ids()()}"
