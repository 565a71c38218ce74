"""The outline of a packaged network, whose weights stay in their file (`wellkept.models.mapped`)."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from wellkept.models.mapped import GRAPH, PLACES

LEAST = 4096
"""Bytes of the smallest weights that stay in the file."""
_STAMP = (1980, 1, 1, 0, 0, 0)


def write_outline(path: Path, outline: Path) -> None:
    """Write the outline of a network: its graph, and type, shape and place in the file of each of its large weights."""
    content = path.read_bytes()
    model = onnx.load_from_string(content)
    places = {}
    for weights in model.graph.initializer:
        raw = weights.raw_data
        if len(raw) < LEAST:
            continue
        place = content.index(raw)
        kind = helper.tensor_dtype_to_np_dtype(weights.data_type).str
        places[weights.name] = (kind, list(weights.dims), place)
        weights.ClearField("raw_data")
        weights.data_location = TensorProto.EXTERNAL
        for key, value in {"location": path.name, "offset": place, "length": len(raw)}.items():
            weights.external_data.add(key=key, value=str(value))
    parts = {GRAPH: model.SerializeToString(deterministic=True), PLACES: json.dumps(places).encode()}
    with zipfile.ZipFile(outline, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, part in parts.items():
            file.writestr(zipfile.ZipInfo(name, _STAMP), part, zipfile.ZIP_DEFLATED)
    print(f"{outline.name}: {outline.stat().st_size / 1e3:.0f} KB, {len(places)} weights stay in {path.name}")
