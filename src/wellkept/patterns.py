"""Regular expressions that are compiled when they are first used.

A short command needs few of the expressions in its modules, and compiling all of them takes longer than its work.
"""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression, compiled when one of its methods is first used.

    Args:
        source: The expression. It must be right: an error would be raised by its first use.
        flags: As in `re.compile`.

    Example:
        >>> pattern("te+").sub("coffee", "tea")
        'coffeea'
    """
    return cast("re.Pattern[str]", _Later(source, flags))


class _Later:
    """Takes over the methods of the compiled expression, so that each further use costs what it usually does."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return self.__dict__[name]
