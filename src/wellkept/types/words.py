"""The closed vocabularies: one word per concept, the same in Python, JSON, the command line and the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Vector: TypeAlias = "NDArray[np.float32]"
Json: TypeAlias = Any
Polarity: TypeAlias = Literal[-1, 0, 1]
Status: TypeAlias = Literal["active", "superseded", "archived", "erased", "wording"]
Lifecycle: TypeAlias = Literal["ACTIVE", "WEAK", "DORMANT"]
Outcome: TypeAlias = Literal[
    "created", "duplicate", "restated", "evolved", "superseded", "reused", "rejected", "queued"
]
OnConflict: TypeAlias = Literal["ignore", "warn", "supersede_sure", "supersede", "raise"]
Relation: TypeAlias = Literal["same", "refines", "generalises", "conflict", "distinct", "variant", "none"]
Stage: TypeAlias = Literal["content_hash", "canonical_hash", "subject", "window", "vector", "key"]
MatchAction: TypeAlias = Literal[
    "duplicate", "restate", "connect", "evolve", "supersede", "outdate", "conflict", "reuse", "none"
]
ConflictKind: TypeAlias = Literal["contradiction", "duplicate", "outdated"]
Resolution: TypeAlias = Literal["keep_old", "keep_new", "keep_both", "merge", "dismissed"]
Direction: TypeAlias = Literal["out", "in", "both"]
Degradation: TypeAlias = Literal[
    "calibration", "embedding", "judge", "judging", "language", "lexical", "relation", "reranker", "unreadable"
]
DifferenceKind: TypeAlias = Literal[
    "negation",
    "polarity",
    "number",
    "unit",
    "sign",
    "version",
    "identifier",
    "date",
    "time",
    "order",
    "scope",
    "name",
    "value",
    "antonym",
    "condition",
    "detail",
    "subject",
    "event_time",
    "length",
    "meaning",
    "custom",
]
DefaultKind: TypeAlias = Literal[
    "fact",
    "note",
    "preference",
    "lesson",
    "decision",
    "semantic",
    "episodic",
    "procedural",
    "feedback",
    "episode",
    "turn_summary",
    "session_summary",
    "knowledge",
    "summary",
    "temp_note",
    "curiosity",
    "thesis",
    "signal",
    "watchpoint",
    "trade",
    "trade_entry",
    "trade_modify",
    "trade_close",
]
"""The kinds of the default policy; annotate with it to have a type checker find misspelled kinds."""
Kind: TypeAlias = DefaultKind | str
"""Any kind: editors complete the default kinds; your own kinds are accepted as well."""
KNOWN_RELATIONS: tuple[str, ...] = (
    "supersedes",
    "restates",
    "refines",
    "derived_from",
    "example_of",
    "updates_part",
    "contradicts",
    "related",
)
"""Link relations that wellkept itself writes; other relations are allowed."""
ALL_STATUSES: tuple[Status, ...] = ("active", "superseded", "archived", "erased", "wording")
SEARCHED: tuple[Status, ...] = ("active", "wording")
"""Statuses whose texts are searched: current memories, and the wordings that stand behind them."""
