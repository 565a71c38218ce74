"""Networks whose weights stay in their files, which are mapped into memory.

A session that loads a file holds its weights twice, and every process has its own. Here large weights are used where
they stand in the file, so that all processes share them and only what is read is in memory. The outline of a network
(`weights/*.outline.zip`, made by `training/outline.py`) is its graph without them, and their places in the file.
"""

from __future__ import annotations

import io
import json
import mmap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from wellkept.models.onnx import check_hash, session, verified_bytes

WEIGHTS = Path(__file__).parent / "weights"
GRAPH, PLACES = "graph.onnx", "places.json"
OUTLINES_SHA256 = {
    "embedder.onnx": "2c665c3715ee48c4a39a808ccf30340807a8c0c3e93d39a1d79db40b55c863f1",
    "multilingual-embedder.onnx": "619a23cc68615d3c1112648ef431acae213618f4d5d48acc6701b12713ee5aee",
    "relation.onnx": "1ebc8eaa1ccb70f2fabb0a0184be16a8c995b016e0c4e2aaedb20276a504cf30",
    "multilingual.onnx": "ad9686dea304588451d633c87cea2f5a857e3ff803b5c13c9c907f56469a9b27",
}
_REINSTALL = "Reinstall wellkept"


def outline_of(network: str) -> Path:
    """The packaged outline of a network, by the name of its file."""
    return (WEIGHTS / network).with_suffix(".outline.zip")


def verified_mapping(path: Path, sha256: str, *, what: str, todo: str) -> mmap.mmap | bytes:
    """A file in memory, read only, if its hash matches; its content where files cannot be mapped.

    A file that is overwritten later, and not replaced as installers do, changes in memory too.

    Args:
        what / todo: What it is, and what to do if it cannot be used, for the error.

    Raises:
        ModelUnavailable: The file is unreadable or has another hash.
    """
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # an empty file cannot be mapped, nor files of some file systems
        return verified_bytes(path, sha256, what=what, todo=todo)
    check_hash(content, sha256, what=what, where=path, todo=todo)
    _let_go(content)
    return content


def check_outlines(*networks: str, what: str) -> None:
    """Check the outlines of networks.

    Raises:
        ModelUnavailable: One is missing or damaged.
    """
    for network in networks:
        _outline(network, what)


def mapped_session(content: mmap.mmap | bytes, path: Path, *, what: str, todo: str) -> Any:
    """A session of a packaged network, which computes the same digits on every processor, on one core for each run.

    Args:
        content: The network's file in memory, verified.
        path: The file; its name is that of a packaged network.
        what: What the weights are of, for an error; `todo`: what to do if onnxruntime cannot load them.

    Raises:
        ModelUnavailable: The outline is missing or damaged, or onnxruntime cannot load the network.
    """
    real = path.resolve()
    if real.name != path.name:  # onnxruntime does not follow such a link; the file holds the whole network
        return session(bytes(content), what=what, where=path, todo=todo, exact=True, threads=1)
    with zipfile.ZipFile(io.BytesIO(_outline(path.name, what))) as file:
        graph, places = file.read(GRAPH), json.loads(file.read(PLACES))
    weights = {
        name: np.require(np.frombuffer(content, kind, int(np.prod(shape)), place).reshape(shape), requirements="A")
        for name, (kind, shape, place) in places.items()
    }
    running = session(graph, what=what, where=real, todo=todo, exact=True, threads=1, weights=weights)
    _let_go(content)
    return running


def _outline(network: str, what: str) -> bytes:
    return verified_bytes(outline_of(network), OUTLINES_SHA256[network], what=what, todo=_REINSTALL)


def _let_go(content: mmap.mmap | bytes) -> None:
    """Free the memory of a mapped file; what is used of it is read again."""
    if isinstance(content, mmap.mmap) and hasattr(content, "madvise"):
        content.madvise(mmap.MADV_DONTNEED)
