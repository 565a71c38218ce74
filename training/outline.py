"""The outlines of the packaged networks, whose weights stay in their files (`wellkept.models.mapped`).

    python -m training.outline embedder.onnx relation.onnx

writes the outline beside each of these files of the package, and its hash into the source.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from training.package import MODELS, WEIGHTS
from wellkept.models.mapped import GRAPH, PLACES, outline_of

LEAST = 4096
"""Bytes of the smallest weights that stay in the file."""
_STAMP = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    """Command line."""
    for name in sys.argv[1:]:
        write(WEIGHTS / name, outline_of(name))
        digest = hashlib.sha256(outline_of(name).read_bytes()).hexdigest()
        source = MODELS / "mapped.py"
        text = re.sub(rf'^(    "{name}": )"\w*"', rf'\1"{digest}"', source.read_text("utf-8"), flags=re.M)
        source.write_text(text, "utf-8")


def write(path: Path, outline: Path) -> None:
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


if __name__ == "__main__":
    main()
