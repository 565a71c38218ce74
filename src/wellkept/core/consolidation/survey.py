"""What a plan is made from: the rows and pairs that were found, and under what they are judged."""

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
    """Everything a plan is made from.

    Attributes:
        rows: The active memories of the scope, by (created_at, id).
        groups: Groups of equal texts among them, each oldest first.
        findings: Judged pairs that say something; of a group only its newest member takes part.
        compared: How many pairs were looked at; `asked`: how many the relation model read.
        conflicts: All conflicts that name one of the rows, open or settled.
        links: All links from or to a row that a merge may concern.
        hidden: Superseded rows by the id of the row that hides them.
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
    """Under what a plan is made; `now` decides ages and never enters the plan."""

    policy: Policy
    config: Consolidation
    scope: Scope
    namespace: str
    models: tuple[str, ...]
    now: datetime


def id_of(*parts: str, size: int = 12) -> str:
    """Hex digits that only the parts decide: ids of actions, clusters and plans."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:size]
