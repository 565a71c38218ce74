"""A judge of contradictions: a chat model behind an OpenAI-compatible endpoint.

Each pair is a separate request, so that a text can only influence its own verdict. Texts are sent as JSON data that the
prompt marks as untrusted. Only a bare JSON object with one of three verdicts counts as an answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from wellkept.models.endpoints.completion import ChatClient, only_value, sendable
from wellkept.models.judges.timeboxed import SECONDS

log = logging.getLogger("wellkept")

LONGEST_TEXT = 4_000
"""Most characters per text; longer texts are not judged."""
SAID: Mapping[str, float | None] = {"conflict": 1.0, "no_conflict": 0.0, "unsure": None}
"""Verdicts and their values. A chat model gives no calibrated probability, only yes, no or unknown."""


class ChatJudge(ChatClient):
    """Verdicts from a chat endpoint; `seconds` is the deadline for all pairs of one write.

    Args:
        url, model, api_key, seconds, timeout, retries, max_tokens, json_mode: See `ChatClient`.

    Attributes:
        unanswered: Number of answers without a verdict.

    Raises:
        ConfigError: As `ChatClient`.
    """

    what = "judge"
    prompt = "judge-prompt-v1"
    seconds = SECONDS
    max_tokens = 64

    def __init__(self, url: str, model: str, **settings: Any) -> None:
        super().__init__(url, model, **settings)
        self.unanswered = 0
        self._counting = threading.Lock()

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """1 for conflict, 0 for no conflict; None for unsure, no verdict, and texts that are too long.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late.
            ModelResponseInvalid: The answer is not a chat completion.
        """
        until = time.monotonic() + self.seconds
        return [self._judged(sendable(old), sendable(new), until) for old, new in pairs]

    def _judged(self, old: str, new: str, until: float) -> float | None:
        if max(len(old), len(new)) > LONGEST_TEXT:
            return None
        verdict = verdict_of(self.ask({"older": old, "newer": new}, until=until))
        if verdict is None:
            with self._counting:
                self.unanswered += 1
            log.warning("The judge gave no verdict (%s), %d so far", self.where, self.unanswered)
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
    verdict = only_value(content, "verdict")
    return verdict if isinstance(verdict, str) and verdict in SAID else None
