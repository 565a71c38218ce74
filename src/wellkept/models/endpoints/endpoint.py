"""One JSON request to an HTTP endpoint: retries, limits on size and time, errors without secrets."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx2

from wellkept.errors import ConfigError, ModelError, ModelResponseInvalid, ModelUnavailable
from wellkept.models.endpoints.deadline import Lines
from wellkept.models.loading import LoadingLock

MAX_ANSWER_BYTES = 1 << 20
CHAT_PATH = "/v1/chat/completions"
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
_LONGEST_RETRY_AFTER = 20.0
_TRANSIENT = frozenset({429, 500, 502, 503, 504, 520, 529})
_TODO = {
    400: "Check the model's name and what it takes",
    401: "Check the API key",
    403: "Check the API key and what it may use",
    404: "Check the path and the model name; most servers answer at {path}",
    413: "Send shorter texts, or fewer at a time",
}
_EXAMPLE = "http://localhost:11434"


class Endpoint:
    """Posts JSON and returns the body of the answer; safe to share between threads.

    Args:
        url: An http or https URL.
        what: Name of the endpoint for messages: "the judge's endpoint".
        api_key: Sent as a bearer token; never shown.
        timeout: Seconds per attempt, for the whole answer.
        retries: Retries after transient failures.
        path: Usual path of such endpoints, for messages.
        most: Most bytes of an answer.
        headers: Further headers, which may hold a key; never shown.

    Raises:
        ConfigError: The URL is no http(s) URL, or a number is out of range.
    """

    def __init__(
        self,
        url: str,
        *,
        what: str,
        api_key: str | None,
        timeout: float,
        retries: int,
        path: str = CHAT_PATH,
        most: int = MAX_ANSWER_BYTES,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._url = _parsed(url, what, path)
        if not 0 <= retries <= 10 or not 0 < timeout <= 600:
            raise ConfigError("timeout or retries is out of range", where=self.host)
        self._what, self._path, self._most = what, path, most
        self._headers = {**({"Authorization": f"Bearer {api_key}"} if api_key else {}), **(headers or {})}
        self._timeout, self._retries = timeout, retries
        self._client: httpx2.Client | None = None
        self._lines = Lines()
        self._opening = LoadingLock()
        self.sleep: Callable[[float], None] = time.sleep

    @property
    def host(self) -> str:
        """The host, without user, password, port and query."""
        return self._url.host

    @property
    def local(self) -> bool:
        """Whether the host is this machine."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def post(self, payload: Mapping[str, Any], *, where: str, until: float = math.inf) -> bytes:
        """Post a payload and return the body of the 200 answer.

        Args:
            payload: The JSON payload.
            where: Host and model, for messages.
            until: Deadline on the monotonic clock, in addition to the timeout and the retries.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late.
            ModelResponseInvalid: The answer is too large.
        """
        failure: ModelError | None = None
        for attempt in range(self._retries + 1):
            left = min(self._timeout, until - time.monotonic())
            if left <= 0:
                break
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)
            try:
                status, told, body = self._once(payload, where, left)
                if status == 200:
                    return body
                failure = self._refusal(status, where)
                if status not in _TRANSIENT:
                    raise failure
                pause = _retry_after(told.get("retry-after", ""), pause)
            except httpx2.TimeoutException as error:
                failure = self._late(where)
                failure.__cause__ = error
            except httpx2.HTTPError as error:
                failure = ModelUnavailable(
                    f"{self._what} cannot be reached ({type(error).__name__})",
                    where=where,
                    todo="Check that the server runs and the URL is right",
                )
                failure.__cause__ = error
            if attempt == self._retries or time.monotonic() + pause >= until:
                break
            self.sleep(pause)
        raise failure if failure is not None else self._late(where)

    def _once(self, payload: Mapping[str, Any], where: str, seconds: float) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and, for status 200, the body; the body size is limited."""
        body = bytearray()
        with (
            self._lines.within(seconds) as trace,
            self._open().stream(
                "POST", self._url, json=payload, timeout=seconds, extensions={"trace": trace}
            ) as response,
        ):
            for piece in response.iter_bytes() if response.status_code == 200 else ():
                body += piece
                if len(body) > self._most:
                    raise ModelResponseInvalid(f"the answer is larger than {self._most >> 20} MiB", where=where)
        return response.status_code, response.headers, bytes(body)

    def _late(self, where: str) -> ModelUnavailable:
        return ModelUnavailable(f"{self._what} gave no answer in time ({self._timeout:g} s)", where=where)

    def _refusal(self, status: int, where: str) -> ModelUnavailable:
        todo = _TODO.get(status, "").format(path=self._path)
        refusal = ModelUnavailable(f"{self._what} answered {status}", where=where, todo=todo)
        refusal.status = status
        return refusal

    def _open(self) -> httpx2.Client:
        with self._opening:
            if self._client is None:
                # What is for this machine is sent to no proxy of the environment, which would be another machine.
                direct = dict.fromkeys(("http://", "https://", "all://")) if self.local else None
                self._client = httpx2.Client(headers=self._headers, mounts=direct)
            return self._client


def _parsed(url: str, what: str, path: str) -> httpx2.URL:
    todo = f"Write it like {_EXAMPLE}{path}"
    # The URL may hold a password, so no message quotes it and no cause is chained.
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, ValueError):
        raise ConfigError(f"the URL of {what} cannot be read", todo=todo) from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError(f"{what} needs an http or https URL", todo=todo)
    return parsed


def _retry_after(header: str, otherwise: float) -> float:
    """Seconds from a Retry-After header, limited; dates are not parsed."""
    try:
        asked = float(header)
    except ValueError:
        return otherwise
    return min(_LONGEST_RETRY_AFTER, max(0.0, asked)) if asked == asked else otherwise
