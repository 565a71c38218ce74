"""A summariser: a chat model behind an OpenAI-compatible endpoint.

Notes are sent as JSON data that the prompt marks as untrusted. Only a bare JSON object with the single key `summary`
counts as an answer. `core.consolidation.reflection` decides whether the text is accepted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from wellkept.errors import ConfigError
from wellkept.models.endpoints.completion import content_of, sendable
from wellkept.models.endpoints.endpoint import Endpoint
from wellkept.models.endpoints.options import options_of
from wellkept.models.judges.spec import number
from wellkept.models.port import Summariser

PROMPT = "summary-prompt-v1"
"""Name and version of the prompt; part of the summariser's id."""
SECONDS = 60.0
"""Deadline for one summary, including retries."""
LONGEST_ALL = 32_000
"""Most characters of all notes together; above it sentences are extracted instead."""
MAX_TOKENS = 1_024
_OPTIONS = frozenset({"model", "seconds", "retries", "max_tokens", "json"})
_WHERE = "summariser"
_NONE = ("", "none", "extractive")


class ChatSummariser:
    """Summaries from a chat endpoint; safe to share between threads.

    Args:
        url: The endpoint, such as `http://localhost:11434/v1/chat/completions`.
        model: Model name at the endpoint.
        api_key: Sent as a bearer token; never shown.
        seconds: Deadline for one summary, including retries.
        retries: Retries after transient failures.
        max_tokens: Limit on the length of an answer.
        json_mode: Request JSON (`response_format`), which some servers reject.

    Raises:
        ConfigError: The URL is no http(s) URL, or a number is out of range.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        seconds: float = SECONDS,
        retries: int = 1,
        max_tokens: int = MAX_TOKENS,
        json_mode: bool = False,
    ) -> None:
        what = "the summariser's endpoint"
        self.endpoint = Endpoint(url, what=what, api_key=api_key, timeout=seconds, retries=retries)
        host = self.endpoint.host
        if not model:
            raise ConfigError("a chat summariser needs the name of a model", where=host, todo="Add ?model=NAME")
        if max_tokens < 1:
            raise ConfigError("max_tokens is out of range", where=host)
        self._where = f"{host}, model {model}"
        self.id = f"chat/{host}/{model}/{PROMPT}"
        self._seconds = seconds
        self._asking: dict[str, Any] = {"model": model, "temperature": 0, "max_tokens": max_tokens, "stream": False}
        if json_mode:
            self._asking["response_format"] = {"type": "json_object"}

    def summarise(self, texts: Sequence[str], *, limit: int) -> str:
        """The model's summary; empty if it gave none or the notes are too long.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late.
            ModelResponseInvalid: The answer is not a chat completion.
        """
        notes = [sendable(text) for text in texts]
        if sum(map(len, notes)) > LONGEST_ALL:
            return ""
        # JSON quoting keeps a text from closing its own quotation.
        quoted = json.dumps({"notes": notes, "limit": limit}, ensure_ascii=False)
        messages = [{"role": "system", "content": prompt()}, {"role": "user", "content": quoted}]
        until = time.monotonic() + self._seconds
        body = self.endpoint.post({**self._asking, "messages": messages}, where=self._where, until=until)
        return summary_of(content_of(body, self._where)) or ""


def summary_of(content: object) -> str | None:
    """The summary in a model's answer; None unless the answer is one bare JSON object with that one key.

    Example:
        >>> summary_of('{"summary": "Tea is upstairs."}'), summary_of("Sure! Tea is upstairs.")
        ('Tea is upstairs.', None)
    """
    if not isinstance(content, str):
        return None
    try:
        said = json.loads(content, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    # Parsed as pairs, so that a duplicate key `summary` is detected.
    if not isinstance(said, list) or len(said) != 1 or not isinstance(said[0], tuple) or said[0][0] != "summary":
        return None
    text = said[0][1]
    return text.strip() if isinstance(text, str) else None


@lru_cache(maxsize=1)
def prompt() -> str:
    """The system prompt of the chat summariser."""
    return resources.files("wellkept.models").joinpath("data", f"{PROMPT}.txt").read_text("utf-8")


def load_summariser(spec: str | None = None, *, api_key: str | None = None) -> Summariser | None:
    """Load the summariser of a setting.

    Args:
        spec: `extractive` (also `none` or empty): no model, sentences are extracted. An http(s) URL with `model` and
            optional `seconds, retries, max_tokens, json` in its query: an OpenAI-compatible chat endpoint; other query
            parameters are passed on.
        api_key: For the endpoint.

    Raises:
        ConfigError: The name or an option is unknown.

    Example:
        >>> load_summariser("extractive") is None
        True
    """
    name = (spec or "").strip()
    if name.lower() in _NONE:
        return None
    if not name.lower().startswith(("http://", "https://")):
        # A URL without its scheme may hold a password; only plain words are quoted.
        shown = f" {name!r}" if name.replace("-", "").replace("_", "").isalnum() else ""
        todo = "Use extractive, or http(s)://HOST/v1/chat/completions?model=NAME"
        raise ConfigError(f"unknown summariser{shown}", todo=todo)
    url, options = options_of(name, _OPTIONS, what="the summariser's endpoint")
    return ChatSummariser(
        url,
        options.get("model", ""),
        api_key=api_key,
        seconds=number(options, "seconds", SECONDS, float, where=_WHERE),
        retries=number(options, "retries", 1, int, where=_WHERE),
        max_tokens=number(options, "max_tokens", MAX_TOKENS, int, where=_WHERE),
        json_mode=options.get("json", "").lower() in ("1", "true", "yes"),
    )
