"""The averaged weights of a run, and the place where they are kept to go on from elsewhere.

python -m training.reader.runs --base build/smollm --run build/reader --to training/reader/run_a
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from training.reader.kept import FILE, depth_of, keep, kept
from training.reader.source import DEPTH, Base, Weights

AVERAGED = "averaged.pt"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, help="folder of the language model")
    parser.add_argument("--run", type=Path, required=True, help="folder of a run")
    parser.add_argument("--weights", default=AVERAGED, help="file of the weights in that folder")
    parser.add_argument("--to", type=Path, required=True, help="folder that keeps them")
    args = parser.parse_args()
    base = Base(args.base)
    weights = weights_of(args.run, base, args.weights)
    keep(args.to, weights, base.layers(depth_of(weights)))
    print(f"{args.to / FILE}: {(args.to / FILE).stat().st_size / 1e6:.1f} MB")


def weights_of(run: Path, base: Base, file: str = AVERAGED) -> Weights:
    """The weights in the folder of a run, or those that a folder keeps."""
    if (run / FILE).exists():
        return kept(run, base.layers(DEPTH))
    return {name: item.numpy() for name, item in torch.load(run / file).items()}


if __name__ == "__main__":
    main()
