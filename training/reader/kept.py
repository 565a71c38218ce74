"""The weights of a reader as what training changed in those of the language model, in 8 bits, to go on from elsewhere.

Each row of a matrix has a step of its own. The norms, and the head, which is new, stay as they are. What was frozen has
not changed, and takes no room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILE = "change.npz"
MOST = 127
"""The largest step of a change, up or down."""


def keep(folder: Path, weights: Mapping[str, NDArray[np.float32]], start: Mapping[str, NDArray[np.float32]]) -> None:
    """Write weights into a folder as their change from those that training started from."""
    arrays = {}
    for name, weight in weights.items():
        if name in start and weight.ndim == 2:
            change = weight - start[name]
            steps = np.abs(change).max(axis=1, keepdims=True) / MOST
            arrays[name] = np.rint(change / np.where(steps == 0, 1, steps)).astype(np.int8)
            arrays[f"{name}/steps"] = steps.astype(np.float32)
        else:
            arrays[name] = weight
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / FILE, **arrays)


def kept(folder: Path, start: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    """The weights that a folder keeps.

    Args:
        folder: Of the file.
        start: What training started from, at least as deep.
    """
    with np.load(folder / FILE) as file:
        arrays = dict(file)
    return {
        name: start[name] + array * arrays[f"{name}/steps"] if f"{name}/steps" in arrays else array
        for name, array in arrays.items()
        if not name.endswith("/steps")
    }


def depth_of(names: Iterable[str]) -> int:
    """How many layers weights with these names have."""
    return len({name.split(".")[1] for name in names if name.startswith("layers.")})
