"""What grouping and packing give: one entry for each thing, and a text block that fits a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from wellkept.errors import InvalidField
from wellkept.types.answers import Hit
from wellkept.types.comparisons import Conflict
from wellkept.types.showing import count_of, escaped, shown
from wellkept.types.words import Degradation

PackFormat: TypeAlias = Literal["markdown", "json", "decisions"]
TokenCounter: TypeAlias = Callable[[str], int]
"""How many tokens a text costs in the reader's model."""

MAX_BUDGET = 10_000_000
_MAX_EXCLUDED = 10_000


@dataclass(frozen=True, slots=True)
class Group:
    """Hits that say one thing.

    Attributes:
        shown: The newest of them.
        repeats: The others, newest first.
        score: The best score among them; the group stands where its best hit stood.
        conflicts: The open conflicts of all of them.
    """

    shown: Hit
    repeats: tuple[Hit, ...] = ()
    score: float = 0.0
    conflicts: tuple[Conflict, ...] = ()

    @property
    def members(self) -> tuple[Hit, ...]:
        """All hits of the group, the shown one first."""
        return (self.shown, *self.repeats)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all of them, the shown one first."""
        return tuple(hit.memory.id for hit in self.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackSpec:
    """How a pack is to be made.

    Attributes:
        budget_tokens: The most that its text may cost.
        format: `markdown`, `json`, or `decisions`: decisions alone, one line each.
        exclude: What the prompt holds already: ids, or texts word for word.
        session: The conversation it is for; with one, what is handed out is remembered, so that
            writing it back in that session makes no memory. Empty for none.
        count_tokens: Counts the tokens of a text; an estimate by script otherwise.
    """

    budget_tokens: int = 800
    format: PackFormat = "markdown"
    exclude: tuple[str, ...] = ()
    session: str = ""
    count_tokens: TokenCounter | None = None

    def __post_init__(self) -> None:
        budget: object = self.budget_tokens
        if isinstance(budget, bool) or not isinstance(budget, int) or not 1 <= budget <= MAX_BUDGET:
            todo = f"Use a whole number from 1 to {MAX_BUDGET}"
            raise InvalidField(f"{budget!r} is not a budget", where="budget_tokens", todo=todo)
        if self.format not in get_args(PackFormat):
            raise InvalidField(
                f"{self.format!r} is not allowed", where="format", todo="Use markdown, json or decisions"
            )
        if not all(isinstance(item, str) for item in self.exclude):
            raise InvalidField("holds something that is not text", where="exclude", todo="Pass ids or texts")
        if len(self.exclude) > _MAX_EXCLUDED:
            raise InvalidField(f"has {len(self.exclude)} items", where="exclude", todo=f"Use at most {_MAX_EXCLUDED}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What holds now about a query, ready for a prompt.

    Attributes:
        text: The block; empty when there is nothing to say, or nothing fits.
        tokens: What it costs, never more than `budget_tokens`.
        groups: What stands in it, best first, each thing once.
        left_out: Ids of what answers the query too, but did not fit.
        excluded: Ids of what answers the query too, but is in the prompt already.
        degraded: What could not run.
    """

    text: str
    tokens: int
    budget_tokens: int
    format: PackFormat
    groups: tuple[Group, ...] = ()
    left_out: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    session: str = ""
    degraded: tuple[Degradation, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of everything in the text, repeats too: what the next pack of the same prompt may exclude."""
        return tuple(key for group in self.groups for key in group.ids)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        said = {"tokens": self.tokens, "budget_tokens": self.budget_tokens, "memories": len(self.groups)}
        return shown("Pack", {**said, "left_out": len(self.left_out) or None, "text": self.text})

    def _repr_html_(self) -> str:
        head = f"{count_of(len(self.groups), 'memory')}, {self.tokens} of {self.budget_tokens} tokens"
        return f"<p>{head}</p><pre>{escaped(self.text)}</pre>"
