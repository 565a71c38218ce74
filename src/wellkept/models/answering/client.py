"""A chat model behind HTTP that gives answers bound to a JSON schema, within a budget of tokens.

A server that refuses the schema is asked once more without it, and from then on without it: what it says is checked in
any case by those who ask.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from wellkept.errors import ConfigError, ModelUnavailable
from wellkept.models.answering.interfaces import Api, ChatCompletions, Interface, Messages, Said, Wanted
from wellkept.models.endpoints.completion import text_of
from wellkept.models.endpoints.endpoint import Endpoint
from wellkept.models.endpoints.options import number, options_of

log = logging.getLogger("wellkept")

SECONDS = 120.0
_OPTIONS = frozenset({"model", "seconds", "retries", "max_tokens"})
_REFUSES_SCHEMA = frozenset({400, 415, 422, 500, 501})
"""Statuses with which servers refuse a schema; 500 is that of older servers of llama.cpp."""
_BYTES_OF_A_TOKEN = 2
"""Tokenizers make fewer tokens of almost every text than one for each two bytes."""
_FRAME = 50
"""Tokens by which a server divides the messages."""


class ChatModel:
    """A chat model that is asked with one prompt, that of its class; to be used by one thread at a time.

    Args:
        url: The address, such as `http://127.0.0.1:8080/v1`; the path of the interface is added if it is missing. Its
            query may hold `model`, `seconds`, `retries` and `max_tokens`; other parameters are sent along.
        model: Model name at the endpoint, if the URL does not say it.
        api: `openai` or `anthropic`; by default what the address says, else `openai`.
        api_key: Sent with each request; never shown.
        budget: Most tokens of questions and answers; None for no limit.

    Attributes:
        what: What it is, for messages.
        prompt: Name and version of the prompt in the package; its hash is part of the id too.
        max_tokens: Most tokens of an answer: those of the class, unless the URL says it.
        id: Names host, model, prompt and the prompt's hash, for the journal.
        budget: Most tokens of questions and answers; None for no limit.
        tokens: Tokens used so far, as the server says, or else as estimated.
        is_spent: Whether something was not asked because the budget does not allow it.

    Raises:
        ConfigError: The URL is no http(s) URL, a number is out of range, or the model has no name.
    """

    what: ClassVar[str]
    prompt: ClassVar[str]
    max_tokens: int

    def __init__(
        self,
        url: str,
        *,
        model: str = "",
        api: Api | None = None,
        api_key: str | None = None,
        budget: int | None = None,
    ) -> None:
        where = f"the {self.what}'s endpoint"
        address, options = options_of(url, _OPTIONS, what=where)
        self._interface = _interface(address, api)
        self.endpoint = Endpoint(
            _whole(address, self._interface.path),
            what=where,
            api_key=None,
            timeout=number(options, "seconds", SECONDS, float, where=where),
            retries=number(options, "retries", 2, int, where=where),
            path=f"/v1{self._interface.path}",
            headers=self._interface.headers(api_key),
        )
        self._model = model or options.get("model", "")
        self.max_tokens = number(options, "max_tokens", self.max_tokens, int, where=where)
        host = self.endpoint.host
        if not self._model:
            raise ConfigError(f"an {self.what} needs a name", where=host, todo="Add --model NAME")
        if not 1 <= self.max_tokens <= 1_000_000 or (budget is not None and budget < 1):
            raise ConfigError("max_tokens or the budget is out of range", where=host)
        self.where = f"{host}, model {self._model}"
        self.budget = budget
        self._is_bound = True
        self.id = f"chat/{host}/{self._model}/{self.prompt}-{version(self.prompt)}"
        self.tokens = 0
        self.is_spent = False

    def affords(self, data: str, schema: Mapping[str, Any]) -> bool:
        """Whether the budget allows one request with this data."""
        return self.budget is None or self.tokens + self.cost(data, schema) <= self.budget

    def cost(self, data: str, schema: Mapping[str, Any]) -> int:
        """The most tokens that one request with this data is likely to use, its answer included."""
        bound = str(schema) if self._is_bound else ""
        size = len((f"{text_of(self.prompt)}\n{data}" + bound).encode())
        return size // _BYTES_OF_A_TOKEN + _FRAME + self.max_tokens

    def ask(self, data: str, schema: Mapping[str, Any]) -> Said:
        """What the model says about the data.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late.
            ModelResponseInvalid: What it sent is no answer of such a server.
        """
        cost = self.cost(data, schema)
        said = self._said(data, schema)
        self.tokens += cost if said.tokens is None else said.tokens
        if not said.is_whole:
            log.warning(
                "The answer was cut off at %d tokens (%s); add max_tokens=N to the URL", self.max_tokens, self.where
            )
        return said

    def _said(self, data: str, schema: Mapping[str, Any]) -> Said:
        if self._is_bound:
            try:
                return self._asked(data, schema)
            except ModelUnavailable as error:
                if error.status not in _REFUSES_SCHEMA:
                    raise
        said = self._asked(data, None)
        if self._is_bound:
            self._is_bound = False
            log.warning("The server takes no JSON schema (%s); its answers are checked all the same", self.where)
        return said

    def _asked(self, data: str, schema: Mapping[str, Any] | None) -> Said:
        wanted = Wanted(
            model=self._model,
            instructions=text_of(self.prompt),
            data=data,
            schema=schema,
            max_tokens=self.max_tokens,
        )
        body = self.endpoint.post(self._interface.payload(wanted), where=self.where)
        return self._interface.said(body, self.where)


def version(prompt: str) -> str:
    """The hash of a prompt."""
    return hashlib.blake2b(text_of(prompt).encode(), digest_size=4).hexdigest()


def _interface(url: str, api: Api | None) -> Interface:
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    is_anthropic = host == "api.anthropic.com" or parts.path.rstrip("/").endswith(Messages().path)
    if api == "anthropic" or (api is None and is_anthropic):
        return Messages()
    return ChatCompletions(is_hosted=host == "api.openai.com")


def _whole(url: str, path: str) -> str:
    """The address with the path of the interface."""
    parts = urlsplit(url)
    given = parts.path.rstrip("/")
    if not given.endswith(path):
        given = (given or "/v1") + path
    return urlunsplit((parts.scheme, parts.netloc, given, parts.query, ""))
