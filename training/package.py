"""The files of the package that training writes, and their hashes in its source."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from training.material import HERE

MODELS = HERE.parent / "src" / "wellkept" / "models"
WEIGHTS = MODELS / "weights"
RUNTIME = MODELS / "relation.py"


def pin(runtime: Path, **found: Path | str) -> None:
    """Write hashes, or those of files, where the product checks them: the constants of a module, by name."""
    source = runtime.read_text(encoding="utf-8")
    for name, of in found.items():
        digest = of if isinstance(of, str) else hashlib.sha256(of.read_bytes()).hexdigest()
        source = re.sub(rf'^{name} = "\w+"', f'{name} = "{digest}"', source, flags=re.M)
    runtime.write_text(source, encoding="utf-8")
