"""Whether the language model is read rightly: it goes on with a text.

    python -m training.reader.told build/smollm "The capital of France is"

With fewer than all layers, as the reader has them, it tells nonsense.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from tokenizers import decoders

from training.reader.model import from_weights
from training.reader.rows import START
from training.reader.source import DEPTH, Base

PIECES = 16
"""Pieces that follow the text."""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path, help="folder of the language model")
    parser.add_argument("text")
    parser.add_argument("--layers", type=int, default=DEPTH)
    args = parser.parse_args()
    base = Base(args.base)
    tokenizer, model = base.tokenizer(), from_weights(base.words(), base.layers(args.layers))
    tokenizer.decoder = decoders.ByteLevel()
    pieces = [START, *tokenizer.encode(args.text).ids]
    for _ in range(PIECES):
        with torch.no_grad():
            last = model.hidden(torch.tensor([pieces]))[0, -1]
        pieces.append(int((model.words @ last).argmax()))
    print(tokenizer.decode(pieces[1:]))


if __name__ == "__main__":
    main()
