"""A judge of contradictions: a chat model behind an OpenAI-compatible endpoint.

Each pair is a separate request, so that a text can only influence its own verdict. Texts are sent as JSON data that the
prompt marks as untrusted. Only a bare JSON object with one of three verdicts counts as an answer.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from wellkept.errors import ConfigError
from wellkept.models.endpoints.completion import content_of, sendable
from wellkept.models.endpoints.endpoint import Endpoint
from wellkept.models.judges.timeboxed import SECONDS

log = logging.getLogger("wellkept")

PROMPT = "judge-prompt-v1"
"""Name and version of the prompt; part of the judge's id."""
LONGEST_TEXT = 4_000
"""Most characters per text; longer texts are not judged."""
SAID: Mapping[str, float | None] = {"conflict": 1.0, "no_conflict": 0.0, "unsure": None}
"""Verdicts and their values. A chat model gives no calibrated probability, only yes, no or unknown."""


class ChatJudge:
    """Verdicts from a chat endpoint; safe to share between threads.

    Args:
        url: The endpoint, such as `http://localhost:11434/v1/chat/completions`.
        model: Model name at the endpoint.
        api_key: Sent as a bearer token; never shown.
        seconds: Deadline for all pairs of one write.
        timeout: Seconds per answer.
        retries: Retries after transient failures.
        max_tokens: Limit on the length of an answer.
        json_mode: Request JSON (`response_format`), which some servers reject.

    Attributes:
        unanswered: Number of answers without a verdict.

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
        timeout: float = SECONDS,
        retries: int = 1,
        max_tokens: int = 64,
        json_mode: bool = False,
    ) -> None:
        self.endpoint = Endpoint(url, what="the judge's endpoint", api_key=api_key, timeout=timeout, retries=retries)
        host = self.endpoint.host
        if not model:
            raise ConfigError("a chat judge needs the name of a model", where=host, todo="Add ?model=NAME")
        if max_tokens < 1 or seconds <= 0:
            raise ConfigError("max_tokens or seconds is out of range", where=host)
        self._where = f"{host}, model {model}"
        self.id = f"chat/{host}/{model}/{PROMPT}"
        self._seconds = seconds
        self._asking: dict[str, Any] = {"model": model, "temperature": 0, "max_tokens": max_tokens, "stream": False}
        if json_mode:
            self._asking["response_format"] = {"type": "json_object"}
        self.unanswered = 0
        self._counting = threading.Lock()

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """1 for conflict, 0 for no conflict; None for unsure, no verdict, and texts that are too long.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late.
            ModelResponseInvalid: The answer is not a chat completion.
        """
        until = time.monotonic() + self._seconds
        return [self._judged(sendable(old), sendable(new), until) for old, new in pairs]

    def _judged(self, old: str, new: str, until: float) -> float | None:
        if max(len(old), len(new)) > LONGEST_TEXT:
            return None
        # JSON quoting keeps a text from closing its own quotation.
        quoted = json.dumps({"older": old, "newer": new}, ensure_ascii=False)
        messages = [{"role": "system", "content": prompt()}, {"role": "user", "content": quoted}]
        body = self.endpoint.post({**self._asking, "messages": messages}, where=self._where, until=until)
        verdict = verdict_of(content_of(body, self._where))
        if verdict is None:
            with self._counting:
                self.unanswered += 1
            log.warning("The judge gave no verdict (%s), %d so far", self._where, self.unanswered)
            return None
        return SAID[verdict]


def verdict_of(content: object) -> str | None:
    """The verdict in a model's answer; None unless the answer is one bare JSON object with one known verdict.

    Example:
        >>> verdict_of('{"verdict": "conflict"}'), verdict_of('Sure! {"verdict": "conflict"}')
        ('conflict', None)
    """
    if not isinstance(content, str) or len(content) > 200:
        return None
    try:
        said = json.loads(content, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    # Parsed as pairs, so that a duplicate key `verdict` is detected.
    for verdict in SAID:
        if said == [("verdict", verdict)]:
            return verdict
    return None


@lru_cache(maxsize=1)
def prompt() -> str:
    """The system prompt of the chat judge."""
    return resources.files("wellkept.models").joinpath("data", f"{PROMPT}.txt").read_text("utf-8")
