"""A chat model behind an OpenAI-compatible endpoint as a judge of contradictions.

Each pair is a question of its own, so that a text can at most mislead the answer about itself. The
texts are sent as JSON data that the prompt declares untrusted, and only a bare JSON object with one
of three verdicts counts as an answer; whatever else a model says is no answer.
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
"""The prompt and its version; another wording is another version, and thereby another judge."""
LONGEST_TEXT = 4_000
"""Characters; longer texts are not sent, and not judged."""
SAID: Mapping[str, float | None] = {"conflict": 1.0, "no_conflict": 0.0, "unsure": None}
"""The verdicts, and what each stands for. A model's word is no measured probability: it is yes, no or nothing."""


class ChatJudge:
    """Verdicts from a chat endpoint; safe to share between threads.

    Args:
        url: The endpoint, such as `http://localhost:11434/v1/chat/completions`.
        model: The model's name there.
        api_key: Sent as a bearer token; never shown.
        seconds: For all pairs of one write together; what is unanswered then stays so.
        timeout: Seconds to wait for each answer.
        retries: How often a call that failed for a passing reason is repeated.
        max_tokens: Bound on the length of an answer.
        json_mode: Ask the server for JSON (`response_format`), which some refuse.

    Attributes:
        unanswered: How many answers were no verdict.

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
        """1 for a verdict of conflict, 0 for none; None for unsure, for no verdict, and for texts too long to send.

        Raises:
            ModelUnavailable: The endpoint cannot be reached, refuses, keeps failing, or is late.
            ModelResponseInvalid: It answered with something that is no chat completion.
        """
        until = time.monotonic() + self._seconds
        return [self._judged(sendable(old), sendable(new), until) for old, new in pairs]

    def _judged(self, old: str, new: str, until: float) -> float | None:
        if max(len(old), len(new)) > LONGEST_TEXT:
            return None
        # Inside JSON a text cannot end its own quotation.
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
    """The verdict in a model's words; None unless they are one bare JSON object with one known verdict.

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
    # A list of pairs, so that a second `verdict` is seen and not silently the one that counts.
    for verdict in SAID:
        if said == [("verdict", verdict)]:
            return verdict
    return None


@lru_cache(maxsize=1)
def prompt() -> str:
    """The instructions a chat judge gets."""
    return resources.files("wellkept.models").joinpath("data", f"{PROMPT}.txt").read_text("utf-8")
