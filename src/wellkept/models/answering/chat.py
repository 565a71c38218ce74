"""A chat model behind HTTP that answers batches of questions, within a budget of tokens.

The texts are sent as JSON data that the prompt marks as untrusted, and the answer is bound to a JSON schema. The
answers are checked in any case: the model can choose among the answers of each question, and do nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from wellkept.core.asking.for_model import answers_in, as_data, schema_of
from wellkept.models.answering.client import ChatModel
from wellkept.models.endpoints.completion import text_of
from wellkept.types import Question

log = logging.getLogger("wellkept")


class ChatAnswerer(ChatModel):
    """Answers from a chat endpoint, for `MemoryStore.answer_with`; to be used by one thread at a time.

    Args:
        url, model, api, api_key, budget: See `ChatModel`.

    Raises:
        ConfigError: As `ChatModel`.
    """

    what = "answering model"
    prompt = "answer-prompt-v2"
    max_tokens = 1_024

    def __call__(self, questions: Sequence[Question]) -> Mapping[str, str] | None:
        """The answers by the ids of the questions; None when the budget allows no further question.

        Raises:
            ModelUnavailable: The endpoint is unreachable, refuses, keeps failing, or is late.
            ModelResponseInvalid: What it sent is no answer of such a server.
        """
        asked = list(questions)
        while asked and not self.affords(as_data(asked), schema_of(asked)):
            self.is_spent = True
            asked.pop()
        if not asked:
            return None
        said = self.ask(as_data(asked), schema_of(asked))
        answers = answers_in(said.text, [one.id for one in asked])
        if said.is_whole and answers is None:
            log.warning("The model's answer holds no answers (%s)", self.where)
        return answers or {}

    def request(self, questions: Sequence[Question]) -> str:
        """What one request with these questions says: the instructions, then the data."""
        return f"{text_of(self.prompt)}\n{as_data(questions)}"

    def estimate(self, questions: Sequence[Question]) -> int:
        """The most tokens that one request with these questions is likely to use, its answer included."""
        return self.cost(as_data(questions), schema_of(questions))
