"""The store as one call uses it.

Apart from `reach` because it loads the engine, which the first answers of a server need not wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wellkept.engine.verbs.store import MemoryStore
from wellkept.server.access.one_namespace import NamespaceStore
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.core.consolidation.rules import Consolidation
    from wellkept.engine.consolidation.planning import Progress
    from wellkept.types import Plan, Problem, RunReport, Scope

Tell = Callable[[float, float | None, str], None]
"""Told how far a call is: how much, of how much if that is known, and a few words."""


class CallStore(MemoryStore):
    """The store of one call: what it does is the caller's doing, and its long verbs say how far they are.

    Args:
        store: In the namespace and session of the caller.
        actor: Who acts, for the journal; empty for whoever the store was opened for.
        tell: Told how far long verbs are.
        whole: Whether the caller may hear of the whole store; else `verify` looks at the namespace alone.
    """

    def __init__(self, store: MemoryStore, actor: str, tell: Tell | None, *, whole: bool = True) -> None:
        context = store._ctx
        super().__init__(replace(context, actor=actor) if actor else context)
        self._tell = tell
        self._whole = whole

    def verify(self) -> tuple[Problem, ...]:
        """As the library's, within what the caller may hear of."""
        return super().verify() if self._whole else NamespaceStore(self._ctx).verify()

    def plan(
        self, config: Consolidation | None = None, scope: Scope | None = None, *, progress: Progress | None = None
    ) -> Plan:
        """As the library's; its steps are told."""
        return super().plan(config, scope, progress=progress if progress is not None else self._steps())

    def execute(self, plan: Plan, **options: Any) -> RunReport:
        """As the library's; its actions are told."""
        tell = self._tell
        if tell is not None and options.get("progress") is None:
            options["progress"] = lambda done, whole: tell(done, whole, f"{done} of {count_of(whole, 'action')}")
        return super().execute(plan, **options)

    def _steps(self) -> Progress | None:
        """Progress over steps of unknown number: each counts as one, and within a step its share, so that it grows."""
        tell = self._tell
        if tell is None:
            return None
        seen: list[str] = []

        def told(step: str, done: int, whole: int) -> None:
            if step not in seen:
                seen.append(step)
            share = min(done / whole, 1.0) if whole else 1.0
            tell(len(seen) - 1 + share, None, f"{step}: {done} of {whole}")

        return told
