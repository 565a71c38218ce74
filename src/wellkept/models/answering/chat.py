"""A chat model behind HTTP that answers batches of questions, within a budget of tokens.

The texts are sent as JSON data that the prompt marks as untrusted, and the answer is bound to a JSON schema. A server
that refuses the schema is asked once more without it, and from then on without it. The answers are checked in any case:
the model can choose among the answers of each question, and do nothing else.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from wellkept.core.asking.for_model import answers_in, as_data, schema_of
from wellkept.errors import ConfigError, ModelUnavailable
from wellkept.models.answering.interfaces import Api, ChatCompletions, Interface, Messages, Said, Wanted
from wellkept.models.endpoints.endpoint import Endpoint
from wellkept.models.endpoints.options import options_of
from wellkept.models.judges.spec import number
from wellkept.types import Question

log = logging.getLogger("wellkept")

PROMPT = "answer-prompt-v2"
"""Name and version of the prompt; its hash is part of the model's id too."""
SECONDS = 120.0
MAX_TOKENS = 1_024
_WHAT = "the answering model's endpoint"
_OPTIONS = frozenset({"model", "seconds", "retries", "max_tokens"})
_REFUSES_SCHEMA = frozenset({400, 415, 422, 500, 501})
"""Statuses with which servers refuse a schema; 500 is that of older servers of llama.cpp."""
_BYTES_OF_A_TOKEN = 2
"""Tokenizers make fewer tokens of almost every text than one for each two bytes."""
_FRAME = 50
"""Tokens by which a server divides the messages."""


class ChatAnswerer:
    """Answers from a chat endpoint, for `MemoryStore.answer_with`; to be used by one thread at a time.

    Args:
        url: The address, such as `http://127.0.0.1:8080/v1`; the path of the interface is added if it is missing. Its
            query may hold `model`, `seconds`, `retries` and `max_tokens`; other parameters are sent along.
        model: Model name at the endpoint, if the URL does not say it.
        api: `openai` or `anthropic`; by default what the address says, else `openai`.
        api_key: Sent with each request; never shown.
        budget: Most tokens of questions and answers; None for no limit.

    Attributes:
        id: Names host, model, prompt and the prompt's hash, for the journal.
        tokens: Tokens used so far, as the server says, or else as estimated.
        is_spent: Whether a question was not asked because the budget does not allow it.

    Raises:
        ConfigError: The URL is no http(s) URL, a number is out of range, or the model has no name.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str = "",
        api: Api | None = None,
        api_key: str | None = None,
        budget: int | None = None,
    ) -> None:
        address, options = options_of(url, _OPTIONS, what=_WHAT)
        self._interface = _interface(address, api)
        self.endpoint = Endpoint(
            _whole(address, self._interface.path),
            what=_WHAT,
            api_key=None,
            timeout=number(options, "seconds", SECONDS, float, where=_WHAT),
            retries=number(options, "retries", 2, int, where=_WHAT),
            path=f"/v1{self._interface.path}",
            headers=self._interface.headers(api_key),
        )
        self._model = model or options.get("model", "")
        self._max_tokens = number(options, "max_tokens", MAX_TOKENS, int, where=_WHAT)
        host = self.endpoint.host
        if not self._model:
            raise ConfigError("an answering model needs a name", where=host, todo="Add --model NAME")
        if not 1 <= self._max_tokens <= 1_000_000 or (budget is not None and budget < 1):
            raise ConfigError("max_tokens or the budget is out of range", where=host)
        self._where = f"{host}, model {self._model}"
        self._budget = budget
        self._is_bound = True
        self.id = f"chat/{host}/{self._model}/{PROMPT}-{version()}"
        self.tokens = 0
        self.is_spent = False

    def __call__(self, questions: Sequence[Question]) -> Mapping[str, str] | None:
        """The answers by the ids of the questions; None when the budget allows no further question.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late.
            ModelResponseInvalid: What it sent is no answer of such a server.
        """
        asked = list(questions)
        while asked and self._budget is not None and self.tokens + self.estimate(asked) > self._budget:
            self.is_spent = True
            asked.pop()
        if not asked:
            return None
        said = self._said(asked)
        self.tokens += self.estimate(asked) if said.tokens is None else said.tokens
        answers = answers_in(said.text, [one.id for one in asked])
        if not said.is_whole:
            log.warning(
                "The answer was cut off at %d tokens (%s); add max_tokens=N to the URL", self._max_tokens, self._where
            )
        elif answers is None:
            log.warning("The model's answer holds no answers (%s)", self._where)
        return answers or {}

    def request(self, questions: Sequence[Question]) -> str:
        """What one request with these questions says: the instructions, then the data."""
        return f"{prompt()}\n{as_data(questions)}"

    def estimate(self, questions: Sequence[Question]) -> int:
        """The most tokens that one request with these questions is likely to use, its answer included."""
        schema = str(schema_of(questions)) if self._is_bound else ""
        size = len((self.request(questions) + schema).encode())
        return size // _BYTES_OF_A_TOKEN + _FRAME + self._max_tokens

    def _said(self, questions: Sequence[Question]) -> Said:
        if self._is_bound:
            try:
                return self._asked(questions, schema_of(questions))
            except ModelUnavailable as error:
                if error.status not in _REFUSES_SCHEMA:
                    raise
        said = self._asked(questions, None)
        if self._is_bound:
            self._is_bound = False
            log.warning("The server takes no JSON schema (%s); its answers are checked all the same", self._where)
        return said

    def _asked(self, questions: Sequence[Question], schema: Mapping[str, Any] | None) -> Said:
        wanted = Wanted(
            model=self._model,
            instructions=prompt(),
            data=as_data(questions),
            schema=schema,
            max_tokens=self._max_tokens,
        )
        body = self.endpoint.post(self._interface.payload(wanted), where=self._where)
        return self._interface.said(body, self._where)


@lru_cache(maxsize=1)
def prompt() -> str:
    """The instructions of the answering model."""
    return resources.files("wellkept.models").joinpath("data", f"{PROMPT}.txt").read_text("utf-8")


def version() -> str:
    """The hash of the prompt."""
    return hashlib.blake2b(prompt().encode(), digest_size=4).hexdigest()


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
