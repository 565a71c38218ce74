"""The seven presets: starting points for the policy of a kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from wellkept.policy.record import (
    DEDUP_CHECK_THRESHOLD,
    EVOLUTION_THRESHOLDS,
    SIMILARITY_EDGE_THRESHOLD,
    Band,
    Decay,
    KindPolicy,
)

_KEEPING = KindPolicy(preset="general", repeats="fold", updates="mark")
"""A restatement is kept as a wording, and what it probably outdates is marked: all presets but `append_only`."""
_COMPARED = replace(_KEEPING, stages=("hash", "canonical", "vector"))
"""Repeats are looked for verbatim and by vector too."""

PRESETS: Mapping[str, KindPolicy] = {
    "insight": replace(
        _COMPARED,
        preset="insight",
        bands=(Band(DEDUP_CHECK_THRESHOLD, "skip"), Band(SIMILARITY_EDGE_THRESHOLD, "link")),
        delivery="sync",
    ),
    "append_only": KindPolicy(preset="append_only", admit="anything"),
    "general": replace(
        _COMPARED, preset="general", scope=("kind", "tags"), bands=(Band(DEDUP_CHECK_THRESHOLD, "merge"),)
    ),
    "fact": replace(
        _KEEPING,
        preset="fact",
        scope=("kind", "agent"),
        stages=("hash", "canonical", "subject", "vector"),
        bands=(Band(DEDUP_CHECK_THRESHOLD, "skip"),),
        on_conflict="supersede_sure",
        act_at=0.85,
        on_same_subject="replace",
    ),
    "episode": replace(
        _KEEPING,
        preset="episode",
        scope=("kind", "agent"),
        stages=("window",),
        admit="anything",
        decay=Decay(14, 2.0, 0.5, 0.1, 180),
    ),
    "decision": replace(_KEEPING, preset="decision", scope=("kind", "agent"), admit="decision"),
    "knowledge": replace(
        _COMPARED,
        preset="knowledge",
        bands=(
            Band(EVOLUTION_THRESHOLDS["duplicate"], "skip", inclusive=False),
            Band(EVOLUTION_THRESHOLDS["evolve_min"], "evolve"),
        ),
    ),
}
"""The seven presets, by name."""
