"""A decision that needs a model's answer leaves its transaction; the model is asked, and the decision is repeated.

No model runs while a lock is held. Models keep their answers for the call, so that the repeat finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_T = TypeVar("_T")


class UnansweredError(Exception):
    """A decision needs answers of a model.

    Args:
        ask: Asks the model and keeps its answers; an outage is kept as well, and not raised.
        wanted: The texts or pairs to ask about.
    """

    def __init__(self, ask: Callable[[Iterable[Any]], None], wanted: Iterable[Any] = ()) -> None:
        super().__init__("answers of a model are missing")
        self.ask = ask
        self.wanted = tuple(wanted)


def ask_all(missing: Iterable[UnansweredError]) -> None:
    """Ask for all missing answers, with one call per model."""
    batches: dict[Callable[[Iterable[Any]], None], list[Any]] = {}
    for one in missing:
        batches.setdefault(one.ask, []).extend(one.wanted)
    for ask, wanted in batches.items():
        ask(wanted)


def until_answered(decide: Callable[[], _T]) -> _T:
    """Repeat a decision, outside any transaction, until no model's answer is missing.

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
