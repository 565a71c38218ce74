"""Two ways to ask a chat model over HTTP: chat completions as OpenAI defined them, and Anthropic's messages.

Both bind the answer to a JSON schema where the server can: a response format there, the input of a tool here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from wellkept.errors import ModelResponseInvalid
from wellkept.frozen import frozen
from wellkept.models.endpoints.completion import content_of
from wellkept.parsing import parsed_json

Api: TypeAlias = Literal["openai", "anthropic"]
_MOST_TOKENS = 10_000_000
_NAME = "answers"


@frozen
class Said:
    """What a model said.

    Attributes:
        text: Its text, or the input of the tool as JSON; empty if it said nothing.
        is_whole: False if it was cut off at the limit of its length.
        tokens: Tokens of question and answer; None if the server does not say.
    """

    text: str
    is_whole: bool
    tokens: int | None


@frozen(kw_only=True)
class Wanted:
    """A request: instructions, data, the schema of the answer (None for no schema), and its limits."""

    model: str
    instructions: str
    data: str
    schema: Mapping[str, Any] | None
    max_tokens: int


@frozen
class ChatCompletions:
    """`/chat/completions`: OpenAI, llama.cpp, Ollama, vLLM and others.

    Attributes:
        is_hosted: Whether it is OpenAI's own server, whose newer models know another limit and no temperature.
    """

    is_hosted: bool = False
    path: str = "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers that carry the key."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def payload(self, wanted: Wanted) -> dict[str, Any]:
        """The body of the request."""
        plain: dict[str, Any] = {
            "model": wanted.model,
            "messages": [
                {"role": "system", "content": wanted.instructions},
                {"role": "user", "content": wanted.data},
            ],
            "stream": False,
            "max_completion_tokens" if self.is_hosted else "max_tokens": wanted.max_tokens,
        }
        if not self.is_hosted:
            plain["temperature"] = 0
        if wanted.schema is not None:
            bound = {"name": _NAME, "strict": True, "schema": wanted.schema}
            plain["response_format"] = {"type": "json_schema", "json_schema": bound}
        return plain

    def said(self, body: bytes, where: str) -> Said:
        """What the model said.

        Raises:
            ModelResponseInvalid: The body is no chat completion.
        """
        text = content_of(body, where)
        answer = _object(body, where)
        return Said(
            text if isinstance(text, str) else "",
            answer["choices"][0].get("finish_reason") != "length",
            _sum(answer.get("usage"), "prompt_tokens", "completion_tokens"),
        )


@frozen
class Messages:
    """`/messages`: Anthropic."""

    path: str = "/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers that carry the key and the version."""
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def payload(self, wanted: Wanted) -> dict[str, Any]:
        """The body of the request."""
        plain: dict[str, Any] = {
            "model": wanted.model,
            "system": wanted.instructions,
            "messages": [{"role": "user", "content": wanted.data}],
            "max_tokens": wanted.max_tokens,
        }
        if wanted.schema is not None:
            told = "Give the answer."
            plain["tools"] = [{"name": _NAME, "description": told, "input_schema": wanted.schema}]
            plain["tool_choice"] = {"type": "tool", "name": _NAME}
        return plain

    def said(self, body: bytes, where: str) -> Said:
        """What the model said: the input of the tool, or else its text.

        Raises:
            ModelResponseInvalid: The body is no message.
        """
        answer = _object(body, where)
        content = answer.get("content")
        if not isinstance(content, list):
            raise ModelResponseInvalid("the answer has no list `content`", where=where)
        blocks = [block for block in content if isinstance(block, dict)]
        inputs = [json.dumps(block.get("input")) for block in blocks if block.get("type") == "tool_use"]
        texts = [
            block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)
        ]
        return Said(
            inputs[0] if inputs else "".join(texts),
            answer.get("stop_reason") != "max_tokens",
            _sum(answer.get("usage"), "input_tokens", "output_tokens"),
        )


Interface: TypeAlias = ChatCompletions | Messages


def _object(body: bytes, where: str) -> dict[str, Any]:
    answer = parsed_json(body, where=where, error=ModelResponseInvalid)
    if not isinstance(answer, dict):
        raise ModelResponseInvalid("the answer is no JSON object", where=where)
    return answer


def _sum(usage: object, *names: str) -> int | None:
    """The tokens that a server says it has used; None where it says nothing that can be true."""
    counts = [usage.get(name) for name in names] if isinstance(usage, dict) else [None]
    whole = [count for count in counts if type(count) is int and 0 <= count <= _MOST_TOKENS]
    return sum(whole) if len(whole) == len(counts) and sum(whole) > 0 else None
