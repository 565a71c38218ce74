"""Plans made over MCP, kept until they are applied, so that a model can pass a plan's id instead of the plan."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from wellkept.errors import InvalidPlan

MAX_PLANS = 16
"""Maximum number of plans per namespace."""
MAX_ALL = 256
_ID = "plan_id"


class Plans:
    """The newest plans by namespace and id, in memory; safe to use from several threads.

    New plans replace old ones of the same namespace only, so that activity in one namespace does not affect others.
    When the total limit is reached, the namespace with the most plans loses its oldest one.

    Example:
        >>> plans = Plans()
        >>> plans.keep("default", {"plan_id": "p1", "actions": []})
        >>> plans.whole("default", {"plan_id": "p1"})
        {'plan_id': 'p1', 'actions': []}
    """

    def __init__(self, *, most: int = MAX_PLANS, most_of_all: int = MAX_ALL) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._most_of_all = most_of_all
        self._plans: dict[str, OrderedDict[str, Mapping[str, Any]]] = {}

    def keep(self, namespace: str, plan: Mapping[str, Any]) -> None:
        """Keep a plan; the oldest one of a full namespace is removed."""
        with self._lock:
            kept = self._plans.setdefault(namespace, OrderedDict())
            kept[str(plan[_ID])] = plan
            kept.move_to_end(str(plan[_ID]))
            while len(kept) > self._most:
                kept.popitem(last=False)
            while sum(map(len, self._plans.values())) > self._most_of_all:
                fullest = max(self._plans, key=lambda name: len(self._plans[name]))
                self._plans[fullest].popitem(last=False)
                if not self._plans[fullest]:
                    del self._plans[fullest]

    def whole(self, namespace: str, given: object) -> object:
        """The plan to execute: the kept plan when only a plan id is given, otherwise the given value.

        Raises:
            InvalidPlan: No plan with this id is kept.
        """
        if not isinstance(given, dict) or set(given) != {_ID}:
            return given
        with self._lock:
            kept = self._plans.get(namespace)
            found = None if kept is None else kept.get(str(given[_ID]))
        if found is None:
            todo = "Call plan again, and pass the plan_id of its answer"
            raise InvalidPlan("no plan of this id is kept here", where=f"plan.{_ID}", todo=todo)
        return dict(found)
