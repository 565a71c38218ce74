"""One JSON question to an HTTP endpoint: retries, a limit on size and on time, and errors that name no secret."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx2

from wellkept.errors import ConfigError, ModelError, ModelResponseInvalid, ModelUnavailable

MAX_ANSWER_BYTES = 1 << 20
"""An answer holds one word; whatever is larger is something else."""
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
_TRANSIENT = frozenset({429, 500, 502, 503, 504, 520, 529})
_TODO = {
    400: "Check the model's name and what it takes",
    401: "Check the API key",
    403: "Check the API key and what it may use",
    404: "Check the path and the model name; most servers answer at /v1/chat/completions",
    413: "Send shorter texts",
}
_URL_TODO = "Write it like http://localhost:11434/v1/chat/completions?model=NAME"


class Endpoint:
    """Posts JSON and returns the body of the answer; safe to share between threads.

    Args:
        url: Where to; an http or https URL.
        what: What it is, for messages: "the judge's endpoint".
        api_key: Sent as a bearer token; never shown.
        timeout: Seconds to wait for each answer, from the first byte sent to the last received.
        retries: How often a call that failed for a passing reason is repeated.

    Raises:
        ConfigError: The URL is no http(s) URL, or a number is out of range.
    """

    def __init__(self, url: str, *, what: str, api_key: str | None, timeout: float, retries: int) -> None:
        self._url = _parsed(url, what)
        if not 0 <= retries <= 10 or not 0 < timeout <= 600:
            raise ConfigError("timeout or retries is out of range", where=self.host)
        self._what, self._key = what, api_key
        self._timeout, self._retries = timeout, retries
        self._client: httpx2.Client | None = None
        self._opening = threading.Lock()
        self.sleep: Callable[[float], None] = time.sleep

    @property
    def host(self) -> str:
        """The host; user, password, port and query are left out."""
        return self._url.host

    def post(self, payload: Mapping[str, Any], *, where: str, until: float) -> bytes:
        """The body of the answer with status 200.

        Args:
            payload: What is asked.
            where: Host and model, for messages.
            until: When there is no use in an answer any more, on the monotonic clock.

        Raises:
            ModelUnavailable: It cannot be reached, refuses, keeps failing, or is late.
            ModelResponseInvalid: The answer is too large.
        """
        failure: ModelError | None = None
        for attempt in range(self._retries + 1):
            left = min(self._timeout, until - time.monotonic())
            if left <= 0:
                break
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)
            try:
                with self._open().stream("POST", self._url, json=payload, timeout=left) as response:
                    if response.status_code == 200:
                        return self._body(response, where, time.monotonic() + left)
                    failure = self._refusal(response.status_code, where)
                    if response.status_code not in _TRANSIENT:
                        raise failure
                    pause = _retry_after(response.headers.get("retry-after", ""), pause)
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

    def _body(self, response: httpx2.Response, where: str, until: float) -> bytes:
        """The body, read with a limit: an answer must not fill the memory, nor trickle in for ever."""
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                raise ModelResponseInvalid(f"the answer is larger than {MAX_ANSWER_BYTES >> 20} MiB", where=where)
            if time.monotonic() > until:
                raise self._late(where)
        return bytes(body)

    def _late(self, where: str) -> ModelUnavailable:
        return ModelUnavailable(f"{self._what} gave no answer in time", where=where)

    def _refusal(self, status: int, where: str) -> ModelUnavailable:
        return ModelUnavailable(f"{self._what} answered {status}", where=where, todo=_TODO.get(status, ""))

    def _open(self) -> httpx2.Client:
        with self._opening:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._client = httpx2.Client(headers=headers)
            return self._client


def _parsed(url: str, what: str) -> httpx2.URL:
    # The URL may hold a password, so no message quotes it and no cause is chained.
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, ValueError):
        raise ConfigError(f"the URL of {what} cannot be read", todo=_URL_TODO) from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError(f"{what} needs an http or https URL", todo=_URL_TODO)
    return parsed


def _retry_after(header: str, otherwise: float) -> float:
    """Seconds a server asks to wait; dates are not read, there is no clock here."""
    try:
        asked = float(header)
    except ValueError:
        return otherwise
    return max(0.0, asked) if asked == asked else otherwise
