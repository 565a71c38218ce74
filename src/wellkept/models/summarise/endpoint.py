"""A summariser: a chat model behind an OpenAI-compatible endpoint.

Notes are sent as JSON data that the prompt marks as untrusted. Only a bare JSON object with the single key `summary`
counts as an answer. `core.consolidation.reflection` decides whether the text is accepted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from wellkept.errors import ConfigError
from wellkept.models.endpoints.completion import ChatClient, only_value, sendable
from wellkept.models.endpoints.options import flag, number, options_of, shown
from wellkept.models.port import Summariser

SECONDS = 60.0
"""Deadline for one summary, including retries."""
LONGEST_ALL = 32_000
"""Most characters of all notes together; above it sentences are extracted instead."""
MAX_TOKENS = 1_024
_OPTIONS = frozenset({"model", "seconds", "retries", "max_tokens", "json"})
_WHERE = "summariser"
_NONE = ("", "none", "extractive")


class ChatSummariser(ChatClient):
    """Summaries from a chat endpoint.

    Args:
        url, model, api_key, seconds, timeout, retries, max_tokens, json_mode: See `ChatClient`.

    Raises:
        ConfigError: As `ChatClient`.
    """

    what = "summariser"
    prompt = "summary-prompt-v1"
    seconds = SECONDS
    max_tokens = MAX_TOKENS

    def summarise(self, texts: Sequence[str], *, limit: int) -> str:
        """The model's summary; empty if it gave none or the notes are too long.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late.
            ModelResponseInvalid: The answer is not a chat completion.
        """
        notes = [sendable(text) for text in texts]
        if sum(map(len, notes)) > LONGEST_ALL:
            return ""
        said = self.ask({"notes": notes, "limit": limit}, until=time.monotonic() + self.seconds)
        return summary_of(said) or ""


def summary_of(content: object) -> str | None:
    """The summary in a model's answer; None unless the answer is one bare JSON object with that one key.

    Example:
        >>> summary_of('{"summary": "Tea is upstairs."}'), summary_of("Sure! Tea is upstairs.")
        ('Tea is upstairs.', None)
    """
    text = only_value(content, "summary")
    return text.strip() if isinstance(text, str) else None


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
        todo = "Use extractive, or http(s)://HOST/v1/chat/completions?model=NAME"
        raise ConfigError(f"unknown summariser{shown(name)}", todo=todo)
    url, options = options_of(name, _OPTIONS, what="the summariser's endpoint")
    return ChatSummariser(
        url,
        options.get("model", ""),
        api_key=api_key,
        seconds=number(options, "seconds", SECONDS, float, where=_WHERE),
        retries=number(options, "retries", 1, int, where=_WHERE),
        max_tokens=number(options, "max_tokens", MAX_TOKENS, int, where=_WHERE),
        json_mode=flag(options, "json"),
    )
