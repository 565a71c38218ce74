"""Options for ranking and filtering, shared by the commands that read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import typer

from wellkept.cli.terminal.fields import FilterOptions, pair
from wellkept.cli.terminal.groups import option
from wellkept.engine.base.inputs import moment
from wellkept.errors import InvalidInput
from wellkept.frozen import frozen
from wellkept.parsing import parsed_json
from wellkept.types import (
    WEIGHT_PRESETS,
    ExpandSpec,
    Filter,
    HybridWeights,
    RecallMode,
    RecallOptions,
    WeightsName,
)

_RANKING = "Ranking"
_NARROW = "Filter"
MIN_SCORE_HELP = "Leave out memories whose relevance is below this; 0 for none."
_TIME = "As ISO 8601: 2026-03-04 or 2026-03-04T09:30; UTC without a zone."


@frozen(kw_only=True)
class NarrowOptions(FilterOptions):
    """Options that select memories, in full."""

    min_importance: float | None = option(min=0.0, max=1.0, panel=_NARROW, help="Minimum importance.")
    since: str | None = option(metavar="TIME", panel=_NARROW, help=f"Stored then or later. {_TIME}")
    until: str | None = option(metavar="TIME", panel=_NARROW, help="Stored before this time.")
    source: list[str] | None = option(metavar="SOURCE", panel=_NARROW, help="From this source; repeatable.")
    meta: list[str] | None = option(metavar="KEY=VALUE", panel=_NARROW, help="With this metadata value; repeatable.")

    def filter(self, wanted: Sequence[str] = ()) -> Filter:
        """The options as a filter."""
        return replace(
            FilterOptions.filter(self, wanted),
            min_importance=self.min_importance,
            created_from=moment("--since", self.since),
            created_to=moment("--until", self.until),
            sources=tuple(self.source or ()),
            metadata=dict(_metadata(text) for text in self.meta or ()),
        )


@frozen(kw_only=True)
class RankingOptions:
    """Options for ranking, for expansion of hits, and for the point in time."""

    mode: RecallMode = option(
        default="default", panel=_RANKING, help="Meaning and words, meaning alone, or age and importance too."
    )
    weights: str | None = option(
        metavar="NAME|PART=NUMBER,...",
        panel=_RANKING,
        help=f"Of --mode hybrid: {', '.join(WEIGHT_PRESETS)}, or parts such as cosine=0.6,recency=0.4.",
    )
    overfetch: int = option(default=4, min=1, max=100, panel=_RANKING, help="Candidates scored per hit.")
    expand: list[str] | None = option(
        metavar="RELATION", panel=_RANKING, help="Add memories linked by this relation; repeatable."
    )
    depth: int = option(default=1, min=1, max=20, panel=_RANKING, help="Steps of --expand.")
    as_of: str | None = option(metavar="TIME", panel=_RANKING, help="Answer from the store's state at this time.")
    valid_at: str | None = option(metavar="TIME", panel=_RANKING, help="Only what was valid in the world at this time.")
    grouped: bool | None = option(
        "--grouped/--ungrouped",
        show_default="by words only",
        panel=_RANKING,
        help="Show duplicates and paraphrases once, or each separately.",
    )
    rerank: bool = option(
        "--rerank/--no-rerank",
        default=True,
        panel=_RANKING,
        help="Reorder the best hits with the reranker, if there is one.",
    )
    min_score: float | None = option(min=0.0, max=1.0, show_default="0.3", panel=_RANKING, help=MIN_SCORE_HELP)

    def options(self) -> RecallOptions:
        """The options as recall options."""
        return RecallOptions(
            weights=_weights(self.weights),
            overfetch=self.overfetch,
            expand=ExpandSpec(rels=tuple(self.expand), depth=self.depth) if self.expand else None,
            as_of=moment("--as-of", self.as_of),
            valid_at=moment("--valid-at", self.valid_at),
            grouped=self.grouped,
            rerank=self.rerank,
            min_score=self.min_score,
        )


def _weights(given: str | None) -> HybridWeights | WeightsName | None:
    if given is None or "=" not in given:
        return cast("WeightsName | None", given)  # recall rejects an unknown name
    parts: dict[str, Any] = dict.fromkeys(("cosine", "lexical", "recency", "importance"), 0.0)
    for text in given.split(","):
        name, value = pair("--weights", text)
        if name not in HybridWeights.__dataclass_fields__:
            raise typer.BadParameter(f"there is no weight {name!r}", param_hint="--weights")
        parts[name] = value if name == "recency_basis" else _number(value)
    return HybridWeights(**parts)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a number", param_hint="--weights") from error


def _metadata(text: str) -> tuple[str, Any]:
    key, mark, value = text.partition("=")
    if not mark or not key:
        raise typer.BadParameter(f"{text!r} is not of the form KEY=VALUE", param_hint="--meta")
    try:
        return key, parsed_json(value)
    except InvalidInput:
        return key, value  # a value that is not JSON is a text
