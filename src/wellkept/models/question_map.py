"""Turns the vector of a question towards the vectors of its answers.

A sentence network puts "Where does Ana live?" near other questions and near texts about where people live. A linear
map, learnt on questions with their answers, moves it towards texts that say where Ana lives. Stored vectors stay as
they are.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records.vectors import unit
from wellkept.frozen import frozen
from wellkept.types import Vector

_SHIFT = 20
"""Bits of a component. Whole numbers below 2**53 add up exactly in double precision, in any order of a processor."""


@frozen
class QuestionMap:
    """A linear map that is added to a vector.

    Attributes:
        weights: Whole numbers of one signed byte, shape (dim + 1, dim); the last row is added to every question.
        step: Value of one unit of the weights.
    """

    weights: NDArray[np.float64]
    step: float

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """The map from its JSON object."""
        flat = np.frombuffer(base64.b64decode(plain["weights"]), dtype=np.int8)
        dim = plain["dim"]
        return cls(flat.reshape(dim + 1, dim).astype(np.float64), plain["step"])

    def turned(self, vector: Vector) -> Vector:
        """The vector of a question, moved towards those of its answers; unit norm.

        Args:
            vector: Of the question, shape (dim,), unit norm.

        Example:
            >>> towards = QuestionMap(np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]), step=1.0)
            >>> towards.turned(np.array([1.0, 0.0], dtype=np.float32)).round(3).tolist()
            [0.7070000171661377, 0.7070000171661377]
        """
        whole = np.rint(np.append(vector.astype(np.float64), 1.0) * (1 << _SHIFT))
        moved: NDArray[np.float64] = np.einsum("i,ij->j", whole, self.weights) * (self.step / (1 << _SHIFT))
        return unit(vector + moved)
