"""Models in ONNX files: verified by their sha256, loaded from the very bytes that were verified."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import Any

from wellkept.errors import ModelUnavailable


def missing(package: str, *, what: str, todo: str) -> ModelUnavailable:
    """The error for a package that is not installed."""
    return ModelUnavailable(f"{what} needs the package {package}", where="import", todo=todo)


def verified_bytes(path: Path, sha256: str, *, what: str, todo: str) -> bytes:
    """The content of a file, if it is the known one.

    Raises:
        ModelUnavailable: It cannot be read, or it is another.
    """
    try:
        blob = path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"{what} cannot be read", where=str(path), todo=todo) from error
    found = hashlib.sha256(blob).hexdigest()
    if found != sha256:
        raise ModelUnavailable(
            f"{what} are not the known ones: sha256 is {found[:12]}…, expected {sha256[:12]}…",
            where=str(path),
            todo=todo,
        )
    return blob


def session(blob: bytes, *, what: str, where: Path, todo: str, exact: bool = False) -> Any:
    """An onnxruntime session on the CPU.

    Args:
        exact: Run each node of the graph as it stands. Otherwise several may become one, whose last digits
            depend on the processor.

    Raises:
        ModelUnavailable: onnxruntime is missing or cannot load the model.
    """
    try:
        ort = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise missing("onnxruntime", what=what, todo=todo) from error
    options = ort.SessionOptions()
    # A library in somebody's process must not burn a core while it waits for work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    if exact:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    try:
        return ort.InferenceSession(blob, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its error classes share no base of their own; all become ours
        raise ModelUnavailable(f"onnxruntime cannot load {what}", where=str(where), todo=todo) from error
