"""The store of a caller who may not see all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.engine.store import MemoryStore

if TYPE_CHECKING:
    from wellkept.types import Problem


class Walled(MemoryStore):
    """A store whose verbs all stay in one namespace.

    Those of `MemoryStore` do so but for `verify`, which looks at the file as a whole: what is wrong in
    it is told with the names and ids of whichever namespace it is in (I8).
    """

    def verify(self) -> tuple[Problem, ...]:
        """As the library's, of this namespace alone."""
        from wellkept.engine.upkeep import verify

        return verify(self._ctx, whole=False)
