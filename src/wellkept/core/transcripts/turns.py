"""A turn of a conversation: who said what, and when."""

from __future__ import annotations

from typing import Literal, TypeAlias

from wellkept.errors import InvalidInput
from wellkept.frozen import frozen

Role: TypeAlias = Literal["person", "agent"]
Said: TypeAlias = "Turn | InvalidInput"
"""A turn, or why what stands in its place cannot be read."""


@frozen(kw_only=True)
class Turn:
    """What somebody said at once: a message, a line, or an entry of a diary.

    Attributes:
        conversation: The conversation, by its id in the source or by the name of its file.
        place: Where the turn is within the conversation: the id of the message, or its line.
        text: What was said.
        speaker: Who said it; empty for a diary.
        role: Whether a person or an agent speaks.
        at: When, as ISO 8601; empty if unknown.
    """

    conversation: str
    place: str
    text: str
    speaker: str = ""
    role: Role = "person"
    at: str = ""
