"""Packaged compressed data files, verified by hash."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

from wellkept.errors import ModelUnavailable

DATA = Path(__file__).parents[1] / "data"


def unpacked(path: Path, sha256: str) -> bytes:
    """The content of a compressed file.

    Args:
        sha256: Hash of the uncompressed content.

    Raises:
        ModelUnavailable: The file is missing or damaged.
    """
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ModelUnavailable("a data file cannot be read", where=str(path), todo="Reinstall wellkept") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ModelUnavailable("a data file is damaged", where=str(path), todo="Reinstall wellkept")
    return content
