"""Embeddings from any OpenAI-compatible HTTP endpoint: OpenAI, Ollama, vLLM, LM Studio.

Whatever a server answers is judged here, so that a broken answer is a named error and never a
wrong vector in the store. Messages name the host and the model; the key, passwords in the URL and
the server's own words (which may quote the key) never appear.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from wellkept.core.calibration import UNCALIBRATED, Calibration
from wellkept.core.vectors import unit
from wellkept.errors import ConfigError, ModelError, ModelResponseInvalid, ModelUnavailable
from wellkept.models.port import Embedded

WINDOW_CHARACTERS = 6_000
"""Longer texts are cut, since common endpoints refuse or silently truncate beyond 8,191 tokens (B-33)."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
_LONGEST_RETRY_AFTER = 20.0
_TRANSIENT = frozenset({429, 500, 502, 503, 504, 520, 529})
_TODO = {
    400: "Check the model name and the dimensions",
    401: "Check the API key",
    403: "Check the API key and what it may use",
    404: "Check the path and the model name; most servers answer at /v1/embeddings",
    413: "Send smaller batches",
}


class HttpEmbedder:
    """Vectors from an HTTP endpoint; safe to share between threads.

    Args:
        url: The embeddings endpoint, such as `http://localhost:11434/v1/embeddings`.
        model: The model's name there.
        api_key: Sent as a bearer token; never shown.
        dim: Length of the vectors; found out with the first answer when not given.
        timeout: Seconds to wait for each answer.
        retries: How often a call that failed for a passing reason is repeated.
        batch: Texts in one call.
        prefix: Put before every text, for models that want one ("query: ").

    Attributes:
        send_dimensions: Whether to ask the server for vectors of `dim` components. By default only
            models known to shorten on request are asked, since other servers refuse the field.

    Raises:
        ConfigError: The URL is no http(s) URL, or a number is out of range.
    """

    calibration: Calibration = UNCALIBRATED
    lexical = False

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        dim: int | None = None,
        timeout: float = 10.0,
        retries: int = 2,
        batch: int = 64,
        prefix: str = "",
    ) -> None:
        self._url = _endpoint(url)
        self.where = f"{self._url.host}, model {model}"
        _require(bool(model), "an HTTP embedder needs the name of a model", self._url.host)
        _require(batch >= 1 and retries >= 0 and timeout > 0, "batch, retries or timeout is out of range", self.where)
        _require(dim is None or dim >= 1, "dim must be at least 1", self.where)
        self._model, self._dim, self._prefix = model, dim, prefix
        self._retries, self._batch, self._timeout = retries, batch, timeout
        self._key = api_key
        self.send_dimensions = dim is not None and model.startswith("text-embedding-3")
        self._client: httpx2.Client | None = None
        self._opening = threading.Lock()
        self._sleep: Callable[[float], None] = time.sleep

    @property
    def id(self) -> str:
        """Host, model, asked dimensions and prefix; the port is left out, since it names no model."""
        name = f"http/{self._url.host}/{self._model}"
        if self.send_dimensions:
            name += f"/{self._dim}"
        if self._prefix:
            name += f"/prefix-{hashlib.blake2b(self._prefix.encode(), digest_size=4).hexdigest()}"
        return name

    @property
    def dim(self) -> int:
        """Length of a vector; asks the endpoint once when nobody has said it."""
        if self._dim is None:
            self._ask(["dimension"])
        assert self._dim is not None  # every accepted answer sets it
        return self._dim

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Vectors in the order of the texts; None for a text of white space only.

        Raises:
            ModelUnavailable: The endpoint cannot be reached, refuses, or keeps failing.
            ModelResponseInvalid: It answered with something that is no embedding of these texts.
        """
        windows = [_windows(text) for text in texts]
        pending = list(dict.fromkeys(window for of_text in windows for window in of_text))
        vectors: dict[str, NDArray[np.float64]] = {}
        left = iter(pending)
        while batch := list(islice(left, self._batch)):
            vectors.update(zip(batch, self._ask(batch), strict=True))
        return [_averaged(of_text, vectors) for of_text in windows]

    def _ask(self, texts: Sequence[str]) -> NDArray[np.float64]:
        payload: dict[str, Any] = {
            "model": self._model,
            "input": [self._prefix + text for text in texts],
            "encoding_format": "float",
        }
        if self.send_dimensions:
            payload["dimensions"] = self._dim
        matrix = _matrix(self._post(payload), len(texts), self.where)
        found = matrix.shape[1]
        if self._dim is None:
            self._dim = found
        if found != self._dim:
            raise ModelResponseInvalid(
                f"the embedding has {found} components, expected {self._dim}",
                where=self.where,
                todo="Set dim to what the model gives",
            )
        return matrix

    def _post(self, payload: Mapping[str, Any]) -> bytes:
        """One call, repeated while it fails for a passing reason; returns the answer's body."""
        failure: ModelError | None = None
        for attempt in range(self._retries + 1):
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)
            try:
                with self._open().stream("POST", self._url, json=payload) as response:
                    if response.status_code == 200:
                        return self._body(response)
                    failure = self._refusal(response.status_code)
                    if response.status_code not in _TRANSIENT:
                        raise failure
                    pause = _retry_after(response.headers.get("retry-after", ""), pause)
            except httpx2.TimeoutException as error:
                failure = ModelUnavailable(f"no answer within {self._timeout:g} s", where=self.where)
                failure.__cause__ = error
            except httpx2.HTTPError as error:
                failure = ModelUnavailable(
                    f"the embedding endpoint cannot be reached ({type(error).__name__})",
                    where=self.where,
                    todo="Check that the server runs and the URL is right",
                )
                failure.__cause__ = error
            if attempt < self._retries:
                self._sleep(pause)
        assert failure is not None  # the loop runs at least once
        raise failure

    def _body(self, response: httpx2.Response) -> bytes:
        """The body, read with a limit: an answer must not fill the memory."""
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                raise ModelResponseInvalid(f"the answer is larger than {MAX_ANSWER_BYTES >> 20} MiB", where=self.where)
        return bytes(body)

    def _refusal(self, status: int) -> ModelUnavailable:
        return ModelUnavailable(
            f"the embedding endpoint answered {status}", where=self.where, todo=_TODO.get(status, "")
        )

    def _open(self) -> httpx2.Client:
        with self._opening:
            if self._client is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._client = httpx2.Client(timeout=self._timeout, headers=headers)
            return self._client


def _endpoint(url: str) -> httpx2.URL:
    # The URL may hold a password, so no message quotes it and no cause is chained.
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError, ValueError):
        raise ConfigError("the URL of the embedding endpoint cannot be read", todo=_URL_TODO) from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError("the embedding endpoint needs an http or https URL", todo=_URL_TODO)
    return parsed


_URL_TODO = "Write it like http://localhost:11434/v1/embeddings"


def _require(holds: bool, what: str, where: str) -> None:  # noqa: FBT001 — an assertion, not a switch
    if not holds:
        raise ConfigError(what, where=where)


def _retry_after(header: str, otherwise: float) -> float:
    """Seconds a server asks to wait, within reason; dates are not read, there is no clock here."""
    try:
        asked = float(header)
    except ValueError:
        return otherwise
    return min(_LONGEST_RETRY_AFTER, max(0.0, asked)) if asked == asked else otherwise


def _windows(text: str) -> list[str]:
    """A text in parts of at most `WINDOW_CHARACTERS`, cut at white space if there is any nearby."""
    # Lone surrogates cannot be sent as JSON.
    rest = text.encode("utf-8", "replace").decode().strip()
    parts: list[str] = []
    while len(rest) > WINDOW_CHARACTERS:
        cut = rest.rfind(" ", WINDOW_CHARACTERS // 2, WINDOW_CHARACTERS)
        cut = cut if cut > 0 else WINDOW_CHARACTERS
        parts.append(rest[:cut])
        rest = rest[cut:].strip()
    return [*parts, rest] if rest else parts


def _averaged(windows: Sequence[str], vectors: Mapping[str, NDArray[np.float64]]) -> Embedded:
    if not windows:
        return Embedded(vector=None, chunks=1)
    total = np.sum([len(window) * vectors[window] for window in windows], axis=0)
    return Embedded(vector=unit(total), chunks=len(windows))


# --------------------------------------------------------------------------------------------
# Judging an answer


def _matrix(body: bytes, expected: int, where: str) -> NDArray[np.float64]:
    """The unit vectors of an answer, in the order of the inputs."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise ModelResponseInvalid("the answer is not JSON", where=where) from None
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ModelResponseInvalid("the answer has no list `data` of embeddings", where=where)
    if not data:
        raise ModelResponseInvalid("empty result", where=where)  # S0-17's word
    if len(data) != expected:
        raise ModelResponseInvalid(f"{len(data)} embeddings came back for {expected} texts", where=where)
    rows = [_row(item.get("embedding"), where) for item in _ordered(data, where)]
    if len({row.size for row in rows}) > 1:
        raise ModelResponseInvalid("the embeddings of one answer differ in length", where=where)
    return np.vstack(rows)


def _ordered(data: list[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    """The items in the order of the inputs; servers may answer in any order."""
    if all("index" not in item for item in data):
        return data
    # As text, since to Python True and 1.0 equal 1, and a list would be no key at all.
    by_place = {repr(item.get("index")): item for item in data}
    if by_place.keys() != {repr(place) for place in range(len(data))}:
        raise ModelResponseInvalid("the numbers `index` do not match the texts", where=where)
    return [by_place[repr(place)] for place in range(len(data))]


def _row(values: Any, where: str) -> NDArray[np.float64]:
    # bool is an int to Python and a string of digits a number to numpy; neither is an embedding.
    if not isinstance(values, list) or any(type(value) not in (int, float) for value in values):
        raise ModelResponseInvalid("an embedding is not a list of numbers", where=where)
    if not values:
        raise ModelResponseInvalid("empty result", where=where)
    try:
        row = unit(np.array(values, dtype=np.float64)).astype(np.float64)
    except (ValueError, OverflowError):
        raise ModelResponseInvalid("an embedding holds numbers that are not finite", where=where) from None
    if not row.any():
        raise ModelResponseInvalid("an embedding is zero in every component", where=where)
    return row
