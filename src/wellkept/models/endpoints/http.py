"""Embeddings from any OpenAI-compatible HTTP endpoint: OpenAI, Ollama, vLLM, LM Studio.

Answers are validated, so that a broken answer is a typed error and never a wrong vector. Messages name host and model.
They never contain the key, passwords of the URL, or the server's text (which may quote the key).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellkept.core.judging.calibration import UNCALIBRATED, Calibration
from wellkept.core.records.vectors import unit
from wellkept.errors import ConfigError, ModelResponseInvalid
from wellkept.models.endpoints.endpoint import Endpoint
from wellkept.models.port import Embedded
from wellkept.parsing import parsed_json

WINDOW_CHARACTERS = 6_000
"""Longer texts are split, because common endpoints reject or truncate beyond 8,191 tokens."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
_PATH = "/v1/embeddings"


class HttpEmbedder:
    """Vectors from an HTTP endpoint; safe to share between threads.

    Args:
        url: The embeddings endpoint, such as `http://localhost:11434/v1/embeddings`.
        model: Model name at the endpoint.
        api_key: Sent as a bearer token; never shown.
        dim: Length of the vectors; taken from the first answer if not given.
        timeout: Seconds per attempt, for the whole answer; at most 600.
        retries: Retries after transient failures; at most 10.
        batch: Texts per call.
        prefix: Prepended to every text, for models that need one ("query: ").

    Attributes:
        send_dimensions: Whether to request vectors of `dim` components. By default only for models known to support it,
            because other servers reject the field.

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
        what = "the embedding endpoint"
        self.endpoint = Endpoint(
            url, what=what, api_key=api_key, timeout=timeout, retries=retries, path=_PATH, most=MAX_ANSWER_BYTES
        )
        host = self.endpoint.host
        self.where = f"{host}, model {model}"
        _require(bool(model), "an HTTP embedder needs the name of a model", host)
        _require(batch >= 1, "batch must be at least 1", self.where)
        _require(dim is None or dim >= 1, "dim must be at least 1", self.where)
        self._model, self._dim, self._prefix = model, dim, prefix
        self._batch = batch
        self.send_dimensions = dim is not None and model.startswith("text-embedding-3")

    @property
    def id(self) -> str:
        """Host, model, requested dimensions and prefix; without the port."""
        name = f"http/{self.endpoint.host}/{self._model}"
        if self.send_dimensions:
            name += f"/{self._dim}"
        if self._prefix:
            name += f"/prefix-{hashlib.blake2b(self._prefix.encode(), digest_size=4).hexdigest()}"
        return name

    @property
    def dim(self) -> int:
        """Length of a vector; the first use asks the endpoint if it is unknown."""
        if self._dim is None:
            self._ask(["dimension"])
        assert self._dim is not None  # every accepted answer sets it
        return self._dim

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Vectors in the order of the texts; None for a blank text.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, or keeps failing.
            ModelResponseInvalid: The answer is no valid embedding of these texts.
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
        matrix = _matrix(self.endpoint.post(payload, where=self.where), len(texts), self.where)
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


def _require(holds: bool, what: str, where: str) -> None:  # noqa: FBT001 — an assertion, not a switch
    if not holds:
        raise ConfigError(what, where=where)


def _windows(text: str) -> list[str]:
    """A text in parts of at most `WINDOW_CHARACTERS`, split at a space if one is near."""
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
# Validating an answer


def _matrix(body: bytes, expected: int, where: str) -> NDArray[np.float64]:
    """The unit vectors of an answer, in the order of the inputs."""
    answer = parsed_json(body, where=where, error=ModelResponseInvalid)
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ModelResponseInvalid("the answer has no list `data` of embeddings", where=where)
    if not data:
        raise ModelResponseInvalid("empty result", where=where)
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
    # Compared as text, because in Python True and 1.0 equal 1, and a list cannot be a key.
    by_place = {repr(item.get("index")): item for item in data}
    if by_place.keys() != {repr(place) for place in range(len(data))}:
        raise ModelResponseInvalid("the numbers `index` do not match the texts", where=where)
    return [by_place[repr(place)] for place in range(len(data))]


def _row(values: Any, where: str) -> NDArray[np.float64]:
    # In Python bool is an int, and numpy parses digit strings; neither is a valid embedding.
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
