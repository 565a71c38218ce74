"""The input of a plan: rows, findings and setting."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from wellkept.core.consolidation.findings import Finding
from wellkept.core.consolidation.rules import Consolidation
from wellkept.policy import Policy
from wellkept.types import Conflict, Link, Memory, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All data that a plan is made from.

    Attributes:
        rows: Active memories of the scope, by (created_at, id).
        groups: Groups of equal texts, each oldest first.
        findings: Findings with a verdict or opinion; only the newest member of a group takes part.
        compared: Number of compared pairs; `asked`: pairs read by the relation model.
        conflicts: All conflicts that name one of the rows, open or resolved.
        links: Links of rows that a merge may concern.
        hidden: Superseded rows and wordings by the id of what they stand behind.
    """

    rows: tuple[Memory, ...]
    groups: tuple[tuple[Memory, ...], ...] = ()
    findings: tuple[Finding, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    links: tuple[Link, ...] = ()
    hidden: Mapping[str, tuple[Memory, ...]] = field(default_factory=dict)
    compared: int = 0
    asked: int = 0
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The context of a plan; `now` determines ages and is not part of the plan."""

    policy: Policy
    config: Consolidation
    scope: Scope
    namespace: str
    models: tuple[str, ...]
    now: datetime


def id_of(*parts: str, size: int = 12) -> str:
    """Hex digits of a hash of the parts, for ids of actions, clusters and plans."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:size]
