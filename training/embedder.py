"""Export of the packaged embedder: all-MiniLM-L6-v2 as an ONNX file with integer weights.

    python -m training.embedder build/minilm

The rounding of the weights is fitted on sentences of the training material. Prints the deviation of the vectors from
those in single precision, on sentences of the selection split.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from training.graph import embedder_graph
from training.material import Split, cases
from training.model import RelationModel, from_minilm
from training.package import MODELS, WEIGHTS, pin
from training.quantise import quantised
from wellkept.models.onnx import session
from wellkept.models.tokenizer.pairs import Row
from wellkept.models.tokenizer.wordpiece import Tokenizer, minilm_pieces

SENTENCES, SEED = 400, 2


def main() -> None:
    """Command line of the export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what training.weights has fetched")
    checkpoint = parser.parse_args().folder / "model.safetensors"
    model = encoder(checkpoint)
    path = WEIGHTS / "embedder.onnx"
    embedder_graph(
        {name: value.numpy() for name, value in model.state_dict().items()}, quantised(model, rows("train")), path
    )
    pin(MODELS / "minilm.py", WEIGHTS_SHA256=path)
    compare(checkpoint, path, rows("select"))


def encoder(checkpoint: Path) -> RelationModel:
    """The encoder with its only mark embedding added to the position embeddings; the head is not used."""
    model = from_minilm(checkpoint, [])
    with torch.no_grad():
        model.marks.weight.zero_()
        model.positions.weight.add_(load_file(checkpoint)["embeddings.token_type_embeddings.weight"][0])
    return model


def rows(split: Split) -> list[Row]:
    """Sentences of a split of the material, as inputs of the embedder."""
    chosen = cases(split)
    random.Random(SEED).shuffle(chosen)
    sentences = [text for case in chosen for part in ("same", "conflict") for text in case.parts[part][:1]]
    pieces = minilm_pieces()
    tokenizer = Tokenizer(pieces)
    found = []
    for sentence in sentences[:SENTENCES]:
        read = (pieces["[CLS]"], *tokenizer.encode(sentence).ids, pieces["[SEP]"])
        found.append(Row(read, (0,) * len(read)))
    return found


def compare(checkpoint: Path, path: Path, unseen: Sequence[Row]) -> None:
    """Print cosines with the vectors in single precision, and the changes of pair cosines."""
    running = session(path.read_bytes(), what="the embedder", where=path, todo="", exact=True)
    made = np.array([running.run(None, {"pieces": np.array([row.pieces])})[0][0] for row in unseen])
    full = encoder(checkpoint)
    full.eval()
    vectors = []
    with torch.no_grad():
        for row in unseen:
            mean = full.encoded(torch.tensor([row.pieces]), torch.tensor([row.marks]))[0].mean(0).double().numpy()
            vectors.append(mean / np.linalg.norm(mean))
    single = np.array(vectors)
    own = (made * single).sum(1)
    pairs = np.triu_indices(len(single), 1)
    moved = (made @ made.T - single @ single.T)[pairs]
    print(f"{len(single)} sentences: cosine with single precision {own.mean():.4f}, least {own.min():.4f}; ", end="")
    print(
        f"cosines of pairs move by {np.sqrt((moved**2).mean()):.4f} (root mean square), at most {abs(moved).max():.4f}"
    )


if __name__ == "__main__":
    main()
