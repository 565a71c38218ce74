"""Shared by chat clients: text that can be sent as JSON, and the content of an answer."""

from __future__ import annotations

from wellkept.errors import ModelResponseInvalid
from wellkept.parsing import parsed_json


def sendable(text: str) -> str:
    """The text without lone surrogates, which cannot be sent as JSON."""
    return text.encode("utf-8", "replace").decode()


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
