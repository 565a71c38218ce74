"""Reflection planning: clusters, their summaries, and the plan that stores them.

Nothing here writes. The store is read in one snapshot, a summariser is asked outside of it, and the plan is
pure (`core/consolidation/reflection.py`). It is executed and undone like every plan.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from wellkept.core.consolidation.reflection import (
    KINDS,
    Cluster,
    Material,
    Reflection,
    Told,
    clusters,
    extract,
    reflection_plan,
    refused,
)
from wellkept.core.records.summary_levels import is_summary_of
from wellkept.core.text.forms import check_text
from wellkept.engine.base.context import Context
from wellkept.engine.consolidation.scope import rows_in
from wellkept.engine.consolidation.summaries import DERIVED, living_summaries
from wellkept.engine.models import fail_open
from wellkept.errors import InvalidInput, ModelError
from wellkept.models.port import Summariser
from wellkept.policy.antonyms import Opposites
from wellkept.storage.port import Tx
from wellkept.types import Memory, Plan, Scope

log = logging.getLogger("wellkept.consolidate")

EXTRACTIVE = "extractive-v1"
"""The built-in summariser with its version, which is part of the plan's hash."""
Progress = Callable[[str, int, int], None]


def reflect(
    ctx: Context,
    config: Reflection | None = None,
    scope: Scope | None = None,
    *,
    summariser: Summariser | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The proposed changes of a reflection of this namespace; nothing is written.

    Args:
        ctx: The store.
        config: Similarity, cluster size, and what happens to the sources.
        scope: Which memories; the active ones of kind `episodic` by default.
        summariser: Writes the summaries; by default, and when its text is unusable, sentences of the sources
            are selected.
        progress: Called with the step, the number done and the total.

    Returns:
        The plan, with one `summarize` for each cluster. Without a summariser the same store, policy and
        settings give the same plan. `degraded` contains `summariser` when its text was missing or unusable,
        and `lexical` when the embedder only compares letters.

    Raises:
        UnknownKind: The policy does not know a kind of the scope.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     for text in ("The nightly deploy failed again.", "The nightly deploy failed again on Friday."):
        ...         _ = store.remember(text, kind="episodic", on_conflict="ignore")
        ...     plan = reflect(store._ctx)
        >>> [(action.type, len(action.targets)) for action in plan.actions]
        [('summarize', 2)]
    """
    config = config if config is not None else Reflection()
    scope = scope if scope is not None else Scope()
    scope = replace(scope, kinds=scope.kinds or KINDS)
    for kind in scope.kinds:
        ctx.policy.for_kind(kind)
    tell = progress if progress is not None else _quiet
    ctx.scale.prepare()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        material = _material(tx, rows_in(tx, scope), ctx.policy.opposites)
    tell("read", len(material.rows), len(material.rows))
    found = clusters(material, config, ctx.scale.calibration, now=ctx.clock())
    writer = _Writer(summariser, config, ctx.policy.opposites)
    told = []
    for at, cluster in enumerate(found, start=1):
        told.append(writer.told(cluster))
        tell("summarise", at, len(found))
    degraded = writer.degraded + (("lexical",) if ctx.embedder.lexical else ()) + tuple(ctx.scale.degraded)
    return reflection_plan(
        told,
        material.rows,
        config,
        names=(ctx.policy.hash, ctx.embedder.id, writer.name),
        namespace=ctx.namespace,
        scope=scope,
        degraded=degraded,
    )


def _quiet(step: str, done: int, whole: int) -> None:
    pass


def _material(tx: Tx, rows: tuple[Memory, ...], opposites: Opposites) -> Material:
    there = {row.id: row for row in rows}
    links = [link for link in tx.links() if link.rel == DERIVED and link.dst in there]
    living = {row.id: row for row in living_summaries(tx, links)}
    summed = {link.dst for link in links if link.src in living and is_summary_of(living[link.src], there[link.dst])}
    return Material(
        rows=rows,
        vectors=tx.vectors({row.embedding for row in rows if row.embedding}),
        conflicts=tuple(item for item in tx.conflicts() if item.a in there or item.b in there),
        summed=frozenset(summed),
        opposites=opposites,
    )


class _Writer:
    """Writes the summary of each cluster: the summariser's text if usable, else selected sentences.

    Attributes:
        degraded: `summariser` once its text was missing or unusable.
    """

    def __init__(self, summariser: Summariser | None, config: Reflection, opposites: Opposites) -> None:
        self._summariser, self._config, self._opposites = summariser, config, opposites
        self._down: ModelError | None = None
        self.degraded: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the summariser, for the configuration hash."""
        return EXTRACTIVE if self._summariser is None else f"{self._summariser.id}+{EXTRACTIVE}"

    def told(self, cluster: Cluster) -> Told:
        """The cluster with its summary."""
        if self._summariser is None:
            return Told(cluster=cluster, text=extract(cluster, self._config, self._opposites), by=EXTRACTIVE)
        text, why = self._asked(self._summariser, cluster)
        if not why:
            return Told(cluster=cluster, text=text, by=self._summariser.id)
        self.degraded = ("summariser",)
        log.warning("Summary of %d memories not taken, sentences are chosen instead: %s", len(cluster.members), why)
        note = f"the text of {self._summariser.id} was not taken: {why}"
        return Told(cluster=cluster, text=extract(cluster, self._config, self._opposites), by=EXTRACTIVE, note=note)

    def _asked(self, summariser: Summariser, cluster: Cluster) -> tuple[str, str]:
        """The summariser's text, or why it is unusable. After an outage it is not asked again."""
        if self._down is not None:
            return "", self._down.what
        try:
            text = fail_open.summarise(summariser, cluster.texts, limit=self._config.limit).strip()
        except ModelError as error:
            self._down = error
            return "", error.what
        try:
            check_text(text, limit=self._config.limit)
        except InvalidInput as error:
            return "", error.what
        return text, refused(text, cluster, self._config, self._opposites)
