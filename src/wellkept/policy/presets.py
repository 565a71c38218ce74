"""The seven presets: starting points for the policy of a kind."""

from __future__ import annotations

from collections.abc import Mapping

from wellkept.policy.record import (
    DEDUP_CHECK_THRESHOLD,
    EVOLUTION_THRESHOLDS,
    SIMILARITY_EDGE_THRESHOLD,
    Band,
    Decay,
    KindPolicy,
)

PRESETS: Mapping[str, KindPolicy] = {
    "insight": KindPolicy(
        preset="insight",
        repeats="fold",
        updates="mark",
        stages=("hash", "canonical", "vector"),
        bands=(Band(DEDUP_CHECK_THRESHOLD, "skip"), Band(SIMILARITY_EDGE_THRESHOLD, "link")),
        delivery="sync",
    ),
    "append_only": KindPolicy(preset="append_only", admit="anything"),
    "general": KindPolicy(
        preset="general",
        repeats="fold",
        updates="mark",
        scope=("kind", "tags"),
        stages=("hash", "canonical", "vector"),
        bands=(Band(DEDUP_CHECK_THRESHOLD, "merge"),),
    ),
    "fact": KindPolicy(
        preset="fact",
        repeats="fold",
        updates="mark",
        scope=("kind", "agent"),
        stages=("hash", "canonical", "subject", "vector"),
        bands=(Band(DEDUP_CHECK_THRESHOLD, "skip"),),
        on_conflict="supersede_sure",
        act_at=0.85,
        on_same_subject="replace",
    ),
    "episode": KindPolicy(
        preset="episode",
        repeats="fold",
        updates="mark",
        scope=("kind", "agent"),
        stages=("window",),
        admit="anything",
        decay=Decay(14, 2.0, 0.5, 0.1, 180),
    ),
    "decision": KindPolicy(
        preset="decision", repeats="fold", updates="mark", scope=("kind", "agent"), admit="decision"
    ),
    "knowledge": KindPolicy(
        preset="knowledge",
        repeats="fold",
        updates="mark",
        stages=("hash", "canonical", "vector"),
        bands=(
            Band(EVOLUTION_THRESHOLDS["duplicate"], "skip", inclusive=False),
            Band(EVOLUTION_THRESHOLDS["evolve_min"], "evolve"),
        ),
    ),
}
"""The seven presets, by name."""
