"""Plans that were made over MCP, kept until they are applied: a model names one instead of writing it out again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from wellkept.errors import InvalidPlan

MAX_PLANS = 16
_ID = "plan_id"


class Plans:
    """The newest plans by namespace and id, in this process only; safe to use from several threads.

    Example:
        >>> plans = Plans()
        >>> plans.keep("default", {"plan_id": "p1", "actions": []})
        >>> plans.whole("default", {"plan_id": "p1"})
        {'plan_id': 'p1', 'actions': []}
    """

    def __init__(self, *, most: int = MAX_PLANS) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._plans: OrderedDict[tuple[str, str], Mapping[str, Any]] = OrderedDict()

    def keep(self, namespace: str, plan: Mapping[str, Any]) -> None:
        """Keep a plan; the oldest one makes room."""
        with self._lock:
            self._plans[namespace, str(plan[_ID])] = plan
            self._plans.move_to_end((namespace, str(plan[_ID])))
            while len(self._plans) > self._most:
                self._plans.popitem(last=False)

    def whole(self, namespace: str, given: object) -> object:
        """The plan that is meant: what was given, or where that only names one of this namespace, the one kept.

        Raises:
            InvalidPlan: No plan of that id is kept.
        """
        if not isinstance(given, dict) or set(given) != {_ID}:
            return given
        with self._lock:
            found = self._plans.get((namespace, str(given[_ID])))
        if found is None:
            todo = "Call plan again, and pass the plan_id of its answer"
            raise InvalidPlan("no plan of this id is kept here", where=f"plan.{_ID}", todo=todo)
        return dict(found)
