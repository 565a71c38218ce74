"""Findings of `wellkept doctor`; an error during an examination becomes a finding too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from wellkept.errors import WellkeptError
from wellkept.frozen import frozen

Health: TypeAlias = Literal["ok", "warn", "fail"]


@frozen
class Finding:
    """One finding: its state, the observation, and the remedy."""

    topic: str
    health: Health
    what: str
    todo: str = ""


def failed(topic: str, error: WellkeptError) -> Finding:
    """An error as a finding."""
    return Finding(topic, "fail", error.what + (f" ({error.where})" if error.where else ""), error.todo)


def findings_of(topic: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings of one examination; an error ends this examination only."""
    try:
        yield from look()
    except WellkeptError as error:
        yield failed(topic, error)
