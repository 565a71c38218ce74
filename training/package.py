"""The files of the package that training writes, and their hashes in its source."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from training.material import HERE
from training.outline import write_outline
from wellkept.models.mapped import outline_of

MODELS = HERE.parent / "src" / "wellkept" / "models"
WEIGHTS = MODELS / "weights"
RUNTIME = MODELS / "relation.py"


def pin(runtime: Path, **found: Path | str) -> None:
    """Write hashes, or those of files, where the product checks them: the constants of a module, by name.

    The outline of a network is made anew.
    """
    source = runtime.read_text(encoding="utf-8")
    for name, of in found.items():
        source = re.sub(rf'^{name} = "\w+"', f'{name} = "{_hash_of(of)}"', source, flags=re.M)
        if isinstance(of, Path) and of.suffix == ".onnx":
            pin_outline(of)
    runtime.write_text(source, encoding="utf-8")


def pin_outline(network: Path) -> None:
    """Make the outline of a network anew, and write its hash where the product checks it."""
    outline = outline_of(network.name)
    write_outline(network, outline)
    mapped = MODELS / "mapped.py"
    line = rf'^(    "{re.escape(network.name)}": )"\w*"'
    source = re.sub(line, rf'\1"{_hash_of(outline)}"', mapped.read_text(encoding="utf-8"), flags=re.M)
    mapped.write_text(source, encoding="utf-8")


def _hash_of(found: Path | str) -> str:
    return found if isinstance(found, str) else hashlib.sha256(found.read_bytes()).hexdigest()
