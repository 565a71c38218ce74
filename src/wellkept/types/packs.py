"""Grouped recall results and packs: one entry per fact, and a text block within a token budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from wellkept.errors import InvalidField
from wellkept.frozen import frozen
from wellkept.types.answers import Hit
from wellkept.types.comparisons import Conflict
from wellkept.types.showing import count_of, escaped, shown
from wellkept.types.words import Degradation

PackFormat: TypeAlias = Literal["markdown", "json", "decisions"]
TokenCounter: TypeAlias = Callable[[str], int]
"""Counts the tokens of a text in the reader's model."""

MAX_BUDGET = 10_000_000
_MAX_EXCLUDED = 10_000


@frozen
class Group:
    """Hits that say the same.

    Attributes:
        shown: The newest hit.
        repeats: The other hits, newest first.
        score: The best score in the group; the group has the rank of its best hit.
        conflicts: The open conflicts of all hits.
        before: In a pack, the memories that the shown one probably replaces and that are printed beneath it.
    """

    shown: Hit
    repeats: tuple[Hit, ...] = ()
    score: float = 0.0
    conflicts: tuple[Conflict, ...] = ()
    before: tuple[Hit, ...] = ()

    @property
    def members(self) -> tuple[Hit, ...]:
        """All hits of the group, the shown one first."""
        return (self.shown, *self.repeats)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all hits, the shown one first."""
        return tuple(hit.memory.id for hit in self.members)


@frozen(kw_only=True)
class PackSpec:
    """How to make a pack.

    Attributes:
        budget_tokens: Maximum number of tokens of the text.
        format: `markdown`, `json`, or `decisions`: only decisions, one line each.
        exclude: What the prompt already contains: ids, or exact texts.
        session: The session that the pack is for; empty for none. Texts handed out in a session are
            remembered, so that writing them back in that session makes no new memory.
        count_tokens: Token counter; by default an estimate by script.
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


@frozen(kw_only=True)
class Pack:
    """The current memories about a query, as text for a prompt.

    Attributes:
        text: The text block; empty when nothing was found or nothing fits the budget.
        tokens: Tokens of the text, at most `budget_tokens`.
        groups: The groups in the text, best first.
        left_out: Ids of memories that answer the query but did not fit.
        excluded: Ids of memories that answer the query but are already in the prompt.
        degraded: Components that failed or were unavailable.
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
        """Ids of all memories in the text, repeats included, for `exclude` of the next pack of the same prompt."""
        beneath = ((*group.ids, *(key for hit in group.before for key in hit.ids)) for group in self.groups)
        return tuple(key for ids in beneath for key in ids)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        said = {"tokens": self.tokens, "budget_tokens": self.budget_tokens, "memories": len(self.groups)}
        return shown("Pack", {**said, "left_out": len(self.left_out) or None, "text": self.text})

    def _repr_html_(self) -> str:
        head = f"{count_of(len(self.groups), 'memory')}, {self.tokens} of {self.budget_tokens} tokens"
        return f"<p>{head}</p><pre>{escaped(self.text)}</pre>"
