"""The store of one call.

Separate from `authorised_store` because it loads the engine, which the first answers of a server do not need.
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
"""Progress callback: amount done, total if known, and a short description."""


class CallStore(MemoryStore):
    """The store of one call: it records the caller as actor, and its long verbs report progress.

    Args:
        store: A store bound to the namespace and session of the caller.
        actor: Name of the caller, for the journal; when empty, the actor of `store` applies.
        tell: Callback for the progress of long verbs.
        whole: Whether the caller may see the whole store; otherwise `verify` covers the namespace only.
    """

    def __init__(self, store: MemoryStore, actor: str, tell: Tell | None, *, whole: bool = True) -> None:
        context = store._ctx
        super().__init__(replace(context, actor=actor) if actor else context)
        self._tell = tell
        self._whole = whole

    def verify(self) -> tuple[Problem, ...]:
        """Like `MemoryStore.verify`, within the permission of the caller."""
        return super().verify() if self._whole else NamespaceStore(self._ctx).verify()

    def plan(
        self, config: Consolidation | None = None, scope: Scope | None = None, *, progress: Progress | None = None
    ) -> Plan:
        """Like `MemoryStore.plan`; its steps are reported as progress."""
        return super().plan(config, scope, progress=progress if progress is not None else self._steps())

    def execute(self, plan: Plan, **options: Any) -> RunReport:
        """Like `MemoryStore.execute`; its actions are reported as progress."""
        tell = self._tell
        if tell is not None and options.get("progress") is None:
            options["progress"] = lambda done, whole: tell(done, whole, f"{done} of {count_of(whole, 'action')}")
        return super().execute(plan, **options)

    def _steps(self) -> Progress | None:
        """Progress over an unknown number of steps: each step counts as one, a partial one as its share."""
        tell = self._tell
        if tell is None:
            return None
        seen: list[str] = []

        def report(step: str, done: int, whole: int) -> None:
            if step not in seen:
                seen.append(step)
            share = min(done / whole, 1.0) if whole else 1.0
            tell(len(seen) - 1 + share, None, f"{step}: {done} of {whole}")

        return report
