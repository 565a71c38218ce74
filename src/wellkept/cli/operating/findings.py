"""What `wellkept doctor` finds: one thing at a time, and an error on the way is a finding too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from wellkept.errors import WellkeptError

Health: TypeAlias = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: how it is, what was seen, what to do."""

    topic: str
    health: Health
    what: str
    todo: str = ""


def failed(topic: str, error: WellkeptError) -> Finding:
    """What an error of ours says, as a finding."""
    return Finding(topic, "fail", error.what + (f" ({error.where})" if error.where else ""), error.todo)


def findings_of(topic: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What a look finds; an error of ours ends this look and no other one."""
    try:
        yield from look()
    except WellkeptError as error:
        yield failed(topic, error)
