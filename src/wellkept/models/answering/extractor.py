"""A chat model behind HTTP that extracts facts from passages of conversations, within a budget of tokens."""

from __future__ import annotations

from wellkept.core.transcripts.facts import Passage, as_data, schema
from wellkept.models.answering.client import ChatModel
from wellkept.models.endpoints.completion import text_of


class ChatExtractor(ChatModel):
    """What a model says about a passage; to be used by one thread at a time.

    Args:
        url, model, api, api_key, budget: See `ChatModel`.

    Raises:
        ConfigError: As `ChatModel`.
    """

    what = "extracting model"
    prompt = "extract-prompt-v1"
    max_tokens = 4_096

    def __call__(self, passage: Passage) -> str | None:
        """What the model says about a passage; None when the budget does not allow to ask.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late.
            ModelResponseInvalid: What it sent is no answer of such a server.
        """
        data = as_data(passage)
        if not self.affords(data, schema()):
            self.is_spent = True
            return None
        return self.ask(data, schema()).text

    def request(self, passage: Passage) -> str:
        """What the request about a passage says: the instructions, then the data."""
        return f"{text_of(self.prompt)}\n{as_data(passage)}"

    def estimate(self, passage: Passage) -> int:
        """The most tokens that the request about a passage is likely to use, its answer included."""
        return self.cost(as_data(passage), schema())
