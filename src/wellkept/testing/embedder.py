"""A fake embedder with exact cosines chosen by the test."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellkept.core.judging.calibration import IDENTITY, Calibration
from wellkept.errors import ModelError
from wellkept.models.port import Embedded

Pair: TypeAlias = frozenset[str] | tuple[str, str]
_ROUNDING = 1e-9


class FakeEmbedder:
    """Embeds texts at exactly the declared cosines, and orthogonally otherwise.

    Boundary tests need .9499 and .9500, which no real model gives. Declared texts are placed first, in order of
    declaration, so that instances with equal declarations give equal vectors, in every process. Other texts get a
    direction from their hash, orthogonal to all texts in use while there are fewer texts than dimensions, and nearly
    orthogonal beyond. Energy is spread over all components, so that half precision keeps four decimals.

    Args:
        cosines: Pairs of texts with their cosine; every other pair has 0.
        dim: Length of the vectors.
        unreadable: Texts that get no vector.
        chunks: Number of windows per text, for tests of long texts; 1 by default.
        lexical: Act as a lexical fallback.

    Raises:
        ValueError: No such vectors exist; names the text and its pairs.

    Attributes:
        calls: Number of `embed` calls, including failed ones.
        texts_seen: Every text that was passed in, in order.
        fail_with: Set it to an error to simulate an outage, to None to end it.

    Example:
        >>> fake = FakeEmbedder({("tea at four", "tea at 4"): 0.95})
        >>> a, b, c = fake.embed(["tea at four", "tea at 4", "rain"])
        >>> round(float(a.vector @ b.vector), 4), abs(round(float(a.vector @ c.vector), 4))
        (0.95, 0.0)
    """

    def __init__(
        self,
        cosines: Mapping[Pair, float] | None = None,
        dim: int = 512,
        *,
        unreadable: Collection[str] = (),
        chunks: Mapping[str, int] | None = None,
        lexical: bool = False,
    ) -> None:
        self.dim = dim
        self.id = f"fake/{dim}"
        self.calibration: Calibration = IDENTITY
        self.lexical = lexical
        self.calls = 0
        self.texts_seen: list[str] = []
        self.fail_with: ModelError | None = None
        self.unreadable = set(unreadable)
        self.chunks = dict(chunks or {})
        self._cosines: dict[frozenset[str], float] = {}
        self._declared: dict[str, None] = {}
        self._space = _Space(dim)
        self._lock = threading.Lock()
        for pair, value in (cosines or {}).items():
            self._declare(pair, value)
        # Impossible declarations fail in the constructor, where the test states them.
        _Space(dim).place_all(self._declared, self._cosines)

    def relate(self, a: str, b: str, cosine: float) -> None:
        """Declare the cosine of two texts, at least one of which is not yet embedded.

        Raises:
            ValueError: Both are embedded, or the cosine is impossible.
        """
        if a in self._space and b in self._space:
            raise ValueError(f"{a!r} and {b!r} have been embedded; their cosine can no longer be chosen")
        self._declare((a, b), cosine)

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Vectors in the order of the texts; raises `fail_with` while it is set."""
        self.calls += 1
        self.texts_seen.extend(texts)
        if self.fail_with is not None:
            raise self.fail_with
        with self._lock:  # places depend on earlier ones, so threads are serialised
            self._space.place_all(self._declared, self._cosines)
            return [self._embedded(text) for text in texts]

    def _embedded(self, text: str) -> Embedded:
        if text in self.unreadable:
            return Embedded(vector=None, chunks=1)
        vector = self._space.vector(text, self._cosines).astype(np.float32)
        return Embedded(vector=vector, chunks=self.chunks.get(text, 1))

    def _declare(self, pair: Pair, value: float) -> None:
        # A frozenset is unordered, and its iteration order differs between processes.
        members = sorted(pair) if isinstance(pair, frozenset) else list(pair)
        if len(members) != 2 or members[0] == members[1]:
            raise ValueError(f"a cosine belongs to two different texts, got {members!r}")
        if not -1.0 <= value <= 1.0:
            raise ValueError(f"{value} is not a cosine ({members[0]!r}, {members[1]!r})")
        if self._cosines.setdefault(frozenset(members), value) != value:
            raise ValueError(f"two different cosines for {members[0]!r} and {members[1]!r}")
        self._declared.update(dict.fromkeys(members))


class _Space:
    """Vectors placed one after another: an incremental Cholesky factor on hashed directions."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._basis = np.zeros((0, dim))
        self._placed: dict[str, NDArray[np.float64]] = {}

    def __contains__(self, text: str) -> bool:
        return text in self._placed

    def place_all(self, texts: Iterable[str], cosines: Mapping[frozenset[str], float]) -> None:
        for text in texts:
            self.vector(text, cosines)

    def vector(self, text: str, cosines: Mapping[frozenset[str], float]) -> NDArray[np.float64]:
        """The vector of a text; computed on first use."""
        known = self._placed.get(text)
        if known is not None:
            return known
        wanted = np.array([cosines.get(frozenset((text, other)), 0.0) for other in self._placed])
        if len(self._basis) >= self._dim and not wanted.any():
            # No orthogonal direction is left; a hashed direction is nearly orthogonal to all others.
            return _hashed(text, self._dim)
        leaning = self._leaning(text, wanted)
        rest = 1.0 - float(leaning @ leaning)
        if rest < -_ROUNDING:
            raise self._impossible(text, wanted)
        if rest > _ROUNDING:
            leaning = leaning + np.sqrt(rest) * self._fresh(text)
        placed: NDArray[np.float64] = leaning / np.sqrt(leaning @ leaning)
        self._placed[text] = placed
        return placed

    def _leaning(self, text: str, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        """The part of a new vector in the span of earlier vectors."""
        if not wanted.any():
            return np.zeros(self._dim)
        others = np.array(list(self._placed.values()))
        leaning: NDArray[np.float64] = np.linalg.lstsq(others, wanted, rcond=None)[0]
        if np.max(np.abs(others @ leaning - wanted)) > _ROUNDING:
            raise self._impossible(text, wanted)
        return leaning

    def _fresh(self, text: str) -> NDArray[np.float64]:
        """A new direction for a text, orthogonal to all in use."""
        if len(self._basis) >= self._dim:
            raise ValueError(f"all {self._dim} dimensions are in use; no exact place is left for {text!r}")
        direction = _hashed(text, self._dim)
        for _ in range(2):  # the second pass removes the rounding error of the first
            direction = direction - self._basis.T @ (self._basis @ direction)
        direction /= np.sqrt(direction @ direction)
        self._basis = np.vstack([self._basis, direction])
        return direction

    def _impossible(self, text: str, wanted: NDArray[np.float64]) -> ValueError:
        pairs = [f"{other!r}: {value}" for other, value in zip(self._placed, wanted, strict=True) if value]
        return ValueError(
            f"no vectors have these cosines: {text!r} cannot be at {', '.join(pairs)} and at 0 to all other texts"
        )


def _hashed(text: str, dim: int) -> NDArray[np.float64]:
    """A unit vector that depends on the text only, with energy spread over all components."""
    seed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    direction = np.random.default_rng(int.from_bytes(seed, "little")).standard_normal(dim)
    return direction / np.sqrt(direction @ direction)
