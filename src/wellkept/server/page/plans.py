"""The plans that somebody has looked at, so that what is applied is what was seen. They are few, and in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from wellkept.errors import InvalidPlan
from wellkept.types import Plan

_MOST = 20


@dataclass
class Plans:
    """Plans by namespace and id."""

    kept: dict[tuple[str, str], Plan] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, namespace: str, plan: Plan) -> None:
        """Keep a plan; the oldest one makes room."""
        with self.lock:
            self.kept.pop((namespace, plan.plan_id), None)
            self.kept[namespace, plan.plan_id] = plan
            while len(self.kept) > _MOST:
                del self.kept[next(iter(self.kept))]

    def drop(self, namespace: str, plan_id: str) -> None:
        """Forget a plan that was applied or put aside."""
        with self.lock:
            self.kept.pop((namespace, plan_id), None)

    def waiting(self, namespace: str) -> list[Plan]:
        """The plans of a namespace that have something to apply, newest first."""
        with self.lock:
            own = [plan for (name, _), plan in self.kept.items() if name == namespace]
        return [plan for plan in reversed(own) if any(action.type != "noop" for action in plan.actions)]

    def seen(self, namespace: str, plan_id: str) -> Plan:
        """The plan that was looked at.

        Raises:
            InvalidPlan: It is no longer kept.
        """
        with self.lock:
            plan = self.kept.get((namespace, plan_id))
        if plan is None:
            raise InvalidPlan(
                "the plan is no longer kept here", where="plan", todo="Look at a new plan; nothing was done"
            )
        return plan
