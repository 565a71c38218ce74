"""The input of a plan: rows, findings, what surrounds them, and setting."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime
from functools import cached_property

from wellkept.core.consolidation.findings import Finding
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.judging.second_look import SecondLook
from wellkept.frozen import frozen
from wellkept.policy import Policy
from wellkept.types import Conflict, Link, Memory, Scope


@frozen(kw_only=True)
class Survey:
    """All data that a plan is made from.

    Attributes:
        rows: Active memories of the scope, by (created_at, id).
        groups: Groups of equal texts, each oldest first.
        findings: Findings with a verdict or opinion; only the newest member of a group takes part.
        compared: Number of compared pairs; `asked`: pairs read by the relation model.
        looks: The memories that the gate would fold now, or that would mark an older one, oldest first.
        conflicts: All conflicts that name one of the rows, open or resolved.
        links: Links of rows that a merge may concern.
        hidden: Superseded rows and wordings by the id of what they stand behind.
    """

    rows: tuple[Memory, ...]
    groups: tuple[tuple[Memory, ...], ...] = ()
    findings: tuple[Finding, ...] = ()
    looks: tuple[SecondLook, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    links: tuple[Link, ...] = ()
    hidden: Mapping[str, tuple[Memory, ...]] = field(default_factory=dict)
    compared: int = 0
    asked: int = 0
    degraded: tuple[str, ...] = ()


class Around:
    """Index of links, conflicts and hidden rows by memory."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey

    @cached_property
    def rows(self) -> dict[str, Memory]:
        """The rows of the survey by id."""
        return {row.id: row for row in self._survey.rows}

    def links(self, ids: Iterable[str]) -> list[Link]:
        """Links from or to any of the memories, without repeats, in order."""
        found = {(link.src, link.dst, link.rel): link for one in ids for link in self._links[one]}
        return [found[edge] for edge in sorted(found)]

    def conflicts(self, ids: Iterable[str]) -> list[Conflict]:
        """Conflicts of any of the memories, without repeats, in order."""
        found = {item.key: item for one in ids for item in self._conflicts[one]}
        return sorted(found.values(), key=lambda item: (item.created_at, item.key))

    def behind(self, ids: Iterable[str]) -> list[Memory]:
        """Rows that stand behind any of the memories: superseded ones and wordings."""
        return [row for one in ids for row in self._survey.hidden.get(one, ())]

    @cached_property
    def _links(self) -> defaultdict[str, list[Link]]:
        found: defaultdict[str, list[Link]] = defaultdict(list)
        for link in self._survey.links:
            found[link.src].append(link)
            found[link.dst].append(link)
        return found

    @cached_property
    def _conflicts(self) -> defaultdict[str, list[Conflict]]:
        found: defaultdict[str, list[Conflict]] = defaultdict(list)
        for item in self._survey.conflicts:
            found[item.a].append(item)
            found[item.b].append(item)
        return found


@frozen(kw_only=True)
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
