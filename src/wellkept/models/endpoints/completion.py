"""A chat model behind an OpenAI-compatible endpoint, asked with a prompt of the package and data in JSON."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any, ClassVar

from wellkept.errors import ConfigError, ModelResponseInvalid
from wellkept.models.endpoints.endpoint import Endpoint
from wellkept.parsing import parsed_json


class ChatClient:
    """A chat model that is asked with the prompt of its class; safe to share between threads.

    Args:
        url: The endpoint, such as `http://localhost:11434/v1/chat/completions`.
        model: Model name at the endpoint.
        api_key: Sent as a bearer token; never shown.
        seconds: Deadline for all requests of one call, including retries; that of the class by default.
        timeout: Seconds per answer; the deadline by default.
        retries: Retries after transient failures.
        max_tokens: Limit on the length of an answer; that of the class by default.
        json_mode: Request JSON (`response_format`), which some servers reject.

    Attributes:
        what: What it is, for messages.
        prompt: Name and version of the prompt; part of the id.
        id: Names host, model and prompt, for the journal.

    Raises:
        ConfigError: The URL is no http(s) URL, or a number is out of range.
    """

    what: ClassVar[str]
    prompt: ClassVar[str]
    seconds: float
    max_tokens: int

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        seconds: float | None = None,
        timeout: float | None = None,
        retries: int = 1,
        max_tokens: int | None = None,
        json_mode: bool = False,
    ) -> None:
        self.seconds = self.seconds if seconds is None else seconds
        self.max_tokens = self.max_tokens if max_tokens is None else max_tokens
        self.endpoint = Endpoint(
            url,
            what=f"the {self.what}'s endpoint",
            api_key=api_key,
            timeout=self.seconds if timeout is None else timeout,
            retries=retries,
        )
        host = self.endpoint.host
        if not model:
            raise ConfigError(f"a chat {self.what} needs the name of a model", where=host, todo="Add ?model=NAME")
        if self.max_tokens < 1 or self.seconds <= 0:
            raise ConfigError("max_tokens or seconds is out of range", where=host)
        self.where = f"{host}, model {model}"
        self.id = f"chat/{host}/{model}/{self.prompt}"
        self._asking: dict[str, Any] = {
            "model": model,
            "temperature": 0,
            "max_tokens": self.max_tokens,
            "stream": False,
            **({"response_format": {"type": "json_object"}} if json_mode else {}),
        }

    def ask(self, data: object, *, until: float) -> object:
        """The model's answer to data, which it gets as JSON, so that no text closes its own quotation.

        Args:
            data: Texts are `sendable`.
            until: The time of `time.monotonic` at which the answer is late.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late.
            ModelResponseInvalid: The answer is not a chat completion.
        """
        messages = [
            {"role": "system", "content": text_of(self.prompt)},
            {"role": "user", "content": json.dumps(data, ensure_ascii=False)},
        ]
        body = self.endpoint.post({**self._asking, "messages": messages}, where=self.where, until=until)
        return content_of(body, self.where)


@lru_cache(maxsize=8)
def text_of(prompt: str) -> str:
    """A prompt of the package."""
    return resources.files("wellkept.models").joinpath("data", f"{prompt}.txt").read_text("utf-8")


def sendable(text: str) -> str:
    """The text without lone surrogates, which cannot be sent as JSON."""
    return text.encode("utf-8", "replace").decode()


def only_value(content: object, key: str) -> object:
    """The value in a model's answer that is one bare JSON object with this one key; None for any other answer.

    Example:
        >>> only_value('{"verdict": "conflict"}', "verdict"), only_value('Sure! {"verdict": "conflict"}', "verdict")
        ('conflict', None)
    """
    if not isinstance(content, str):
        return None
    try:
        said = json.loads(content, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    # Parsed as pairs, so that a key that stands there twice is detected.
    if not isinstance(said, list) or len(said) != 1 or not isinstance(said[0], tuple) or said[0][0] != key:
        return None
    value: object = said[0][1]
    return value


def content_of(body: bytes, where: str) -> object:
    """The message content of a chat completion.

    Raises:
        ModelResponseInvalid: The answer is not a chat completion.
    """
    answer = parsed_json(body, where=where, error=ModelResponseInvalid)
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise ModelResponseInvalid("the answer has no list `choices` of one", where=where)
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise ModelResponseInvalid("the answer's choice has no message", where=where)
    return message.get("content")
