"""What a system under comparison must offer, and the vectors that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellkept.models.port import Embedder

Array: TypeAlias = "NDArray[np.float32]"


class System(Protocol):
    """One empty store of a system."""

    def write(self, text: str, *, kind: str, at: datetime) -> None:
        """Store a text as its documentation says, with the kind and time where the call takes them."""

    def search(self, query: str, limit: int) -> list[str]:
        """The texts of the best hits, best first."""

    def all_texts(self) -> list[str]:
        """Every text that its search may return, an equal text as often as it stands there."""

    def close(self) -> None:
        """Let go of files and connections."""


class Vectors:
    """The vectors of one embedder, computed once for each text; a text that it cannot read has the zero vector."""

    def __init__(self, embedder: Embedder) -> None:
        self.dim = embedder.dim
        self._embedder = embedder
        self._made: dict[str, Array] = {}

    def of(self, texts: Sequence[str]) -> Array:
        """One row per text."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._made]
        for text, answer in zip(missing, self._embedder.embed(missing) if missing else (), strict=True):
            self._made[text] = np.zeros(self.dim, np.float32) if answer.vector is None else answer.vector
        return np.array([self._made[text] for text in texts], dtype=np.float32).reshape(len(texts), self.dim)


Opening: TypeAlias = Callable[[Path, Vectors], System]
"""Opens a new store in an empty folder."""
