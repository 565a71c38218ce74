"""A decision that lacks a model's answer leaves its transaction, the model is asked, and the decision is taken anew.

No model runs while a lock is held. Each model keeps its answers for the call, so that the next try finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_T = TypeVar("_T")


class UnansweredError(Exception):
    """Answers of a model are missing.

    Args:
        ask: Asks the model and keeps its answers; an outage is kept too, and not raised.
        wanted: The texts or pairs to ask about.
    """

    def __init__(self, ask: Callable[[Iterable[Any]], None], wanted: Iterable[Any] = ()) -> None:
        super().__init__("answers of a model are missing")
        self.ask = ask
        self.wanted = tuple(wanted)


def ask_all(missing: Iterable[UnansweredError]) -> None:
    """Ask for everything that is missing, each model once."""
    batches: dict[Callable[[Iterable[Any]], None], list[Any]] = {}
    for one in missing:
        batches.setdefault(one.ask, []).extend(one.wanted)
    for ask, wanted in batches.items():
        ask(wanted)


def until_answered(decide: Callable[[], _T]) -> _T:
    """Run a decision, outside any transaction of its caller, until no model's answer is missing.

    Example:
        >>> known = {}
        >>> def ask(texts):
        ...     known.update((text, len(text)) for text in texts)
        >>> def decide():
        ...     if "tea" not in known:
        ...         raise UnansweredError(ask, ["tea"])
        ...     return known["tea"]
        >>> until_answered(decide)
        3
    """
    while True:
        try:
            return decide()
        except UnansweredError as missing:
            ask_all([missing])
