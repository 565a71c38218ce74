"""What every client of a chat endpoint needs: text that can be sent, and what the model said."""

from __future__ import annotations

from wellkept.errors import ModelResponseInvalid
from wellkept.parsing import parsed_json


def sendable(text: str) -> str:
    """The text without lone surrogates, which cannot be sent as JSON."""
    return text.encode("utf-8", "replace").decode()


def content_of(body: bytes, where: str) -> object:
    """What the model said in an answer.

    Raises:
        ModelResponseInvalid: The answer is no chat completion.
    """
    answer = parsed_json(body, where=where, error=ModelResponseInvalid)
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise ModelResponseInvalid("the answer has no list `choices` of one", where=where)
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise ModelResponseInvalid("the answer's choice has no message", where=where)
    return message.get("content")
