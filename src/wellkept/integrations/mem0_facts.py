"""Facts in messages: what a chat model finds, or without a model the statements that are worth keeping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wellkept.config import Send, load
from wellkept.core.transcripts.facts import facts_in, passages
from wellkept.core.transcripts.statements import all_statements
from wellkept.core.transcripts.turns import Turn
from wellkept.engine.base.context import utc_now
from wellkept.engine.ingest.choosing import without_chatter
from wellkept.errors import ConfigError, InvalidField, ModelResponseInvalid, ModelUnavailable
from wellkept.models.answering.extractor import ChatExtractor

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

_CONVERSATION = "mem0"
_PERSON, _AGENT, _SYSTEM = "user", "assistant", "system"
_ADDRESSES: Mapping[str, str] = {
    "openai": "openai_base_url",
    "ollama": "ollama_base_url",
    "lmstudio": "lmstudio_base_url",
    "vllm": "vllm_base_url",
}
"""The providers of mem0's configuration that speak OpenAI's interface, each with the key of its address."""


class FactsFromModel:
    """The facts that a chat model finds in messages; its answer is bound to a schema and checked against the messages.

    Args:
        url: An endpoint such as `http://127.0.0.1:11434/v1?model=NAME`; OpenAI's interface or Anthropic's.
        model: The name of the model, if the URL does not say it.
        api_key: By default that of `WELLKEPT_ANSWER_KEY`.
        budget: Most tokens of all requests together; None for no limit.
        send: `any` allows an endpoint on another machine; by default as the setting `ask_send` says.

    Raises:
        ConfigError: The address cannot be used, or the texts would leave this machine without permission.

    Example:
        >>> FactsFromModel("http://models.example/v1", model="small", send="loopback")
        Traceback (most recent call last):
        ...
        wellkept.errors.ConfigError: the texts of the messages would leave this machine (models.example). ...
    """

    def __init__(
        self,
        url: str,
        *,
        model: str = "",
        api_key: str | None = None,
        budget: int | None = None,
        send: Send | None = None,
    ) -> None:
        settings = load()
        key = settings.answer_key if api_key is None else api_key
        self._model = ChatExtractor(url, model=model, api_key=key or None, budget=budget)
        endpoint = self._model.endpoint
        if not endpoint.local and (send or settings.ask_send) != "any":
            raise ConfigError(
                "the texts of the messages would leave this machine",
                where=endpoint.host,
                todo='Use a model on this machine, or pass send="any", or set WELLKEPT_ASK_SEND=any',
            )

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        """The facts in messages, each once.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late; or the budget is spent.
            ModelResponseInvalid: What it said holds no facts in the form that was asked for.
        """
        found: dict[str, None] = {}
        for passage in passages(turns_of(messages)):
            said = self._model(passage)
            if said is None:
                raise ModelUnavailable("the budget of the model is spent", where="budget", todo="Allow more tokens")
            extracted = facts_in(said, passage)
            if extracted is None:
                todo = "Pass another model, or infer=False"
                raise ModelResponseInvalid("the model's answer holds no facts", where=self._model.where, todo=todo)
            found |= dict.fromkeys(fact.text for fact in extracted.facts)
        return list(found)


def model_of(config: Mapping[str, Any]) -> FactsFromModel | None:
    """The model that a configuration of mem0 names, if it has an address and speaks OpenAI's interface; else None.

    Raises:
        ConfigError: The texts would leave this machine without permission, or the model has no name.
    """
    llm = config.get("llm")
    given = llm.get("config") if isinstance(llm, Mapping) else None
    if not isinstance(llm, Mapping) or not isinstance(given, Mapping):
        return None
    provider = str(llm.get("provider", ""))
    address = given.get(_ADDRESSES.get(provider, ""))
    if not address:
        return None
    url = str(address).rstrip("/")
    url = url if provider == "openai" or url.endswith("/v1") else f"{url}/v1"
    return FactsFromModel(url, model=str(given.get("model") or ""), api_key=given.get("api_key"))


def statements_in(memories: MemoryStore, messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What people state in messages, sentence by sentence, without questions, greetings and chatter.

    What an assistant says is left out: without a model nothing tells its results from its talk.
    """
    said = list(all_statements(turn for turn in turns_of(messages) if turn.role == "person"))
    said, _ = without_chatter(memories._ctx, said, known=[one.why is not None for one in said])
    return list(dict.fromkeys(one.text for one in said if one.why is None))


def turns_of(messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """Messages as turns of today, without those of the system."""
    today = utc_now().isoformat()
    return [
        Turn(
            conversation=_CONVERSATION,
            place=str(number),
            text=text_of(message),
            speaker=str(message.get("name") or message.get("role") or _PERSON),
            role="agent" if message.get("role") == _AGENT else "person",
            at=today,
        )
        for number, message in enumerate(messages, start=1)
        if message.get("role", _PERSON) in (_PERSON, _AGENT)
    ]


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, whose content is a text, or parts of the type `text`.

    Raises:
        InvalidField: It holds something else, such as a picture.

    Example:
        >>> text_of({"content": [{"type": "text", "text": "Tea"}, {"type": "text", "text": "Milk"}]})
        'Tea\\nMilk'
    """
    content = message.get("content")
    parts = content if isinstance(content, list | tuple) else [{"type": "text", "text": content or ""}]
    texts = [part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        todo = "Describe pictures in words"
        raise InvalidField("the content of a message must be text", where="messages", todo=todo)
    return "\n".join(str(text) for text in texts)
