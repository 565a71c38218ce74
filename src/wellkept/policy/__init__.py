"""Policies: one frozen record per kind decides the outcome of a write.

`record` defines the record, `presets` the starting points, `packs` the default kinds, and `policies` the
whole `Policy`, which can be read from TOML (`from_toml`).
"""

from __future__ import annotations

from wellkept.policy.from_toml import CONFLICT_DAYS, MAX_CONTENT_CHARS, POLICY_KEYS
from wellkept.policy.packs import DEFAULT_KINDS, PACKS, TOLD_AGAIN_AT, PolicyPack, kinds_of, pack_of
from wellkept.policy.policies import Policy, former_default
from wellkept.policy.presets import PRESETS
from wellkept.policy.record import (
    AUTO_LINK_AT,
    CONFLICT_REPORT_AT,
    CONFLICT_THRESHOLD,
    DEDUP_CHECK_THRESHOLD,
    DEDUP_THRESHOLDS,
    EVOLUTION_THRESHOLDS,
    MOST_AUTO_LINKS,
    SIMILARITY_EDGE_THRESHOLD,
    Admission,
    Band,
    BandOutcome,
    ConflictsWith,
    Decay,
    Delivery,
    GateStage,
    KindPolicy,
    OnError,
    OnSameSubject,
    Risk,
    ScopeKey,
)

__all__ = [
    "AUTO_LINK_AT",
    "Admission",
    "Band",
    "BandOutcome",
    "CONFLICT_DAYS",
    "CONFLICT_REPORT_AT",
    "CONFLICT_THRESHOLD",
    "ConflictsWith",
    "DEDUP_CHECK_THRESHOLD",
    "DEDUP_THRESHOLDS",
    "DEFAULT_KINDS",
    "Decay",
    "Delivery",
    "EVOLUTION_THRESHOLDS",
    "GateStage",
    "KindPolicy",
    "MAX_CONTENT_CHARS",
    "MOST_AUTO_LINKS",
    "OnError",
    "OnSameSubject",
    "PACKS",
    "POLICY_KEYS",
    "PRESETS",
    "Policy",
    "PolicyPack",
    "Risk",
    "SIMILARITY_EDGE_THRESHOLD",
    "ScopeKey",
    "TOLD_AGAIN_AT",
    "former_default",
    "kinds_of",
    "pack_of",
]
