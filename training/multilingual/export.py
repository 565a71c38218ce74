"""From a run of the multilingual list reader to the package: exact integers, pieces, calibrated probabilities.

    python -m training.multilingual.export --run build/e5-lists

Probabilities are fitted on the calibration split's pairs that are not English, with the exported network itself.
`training.heads` then fits when to act on what both networks say.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from pathlib import Path

import torch

from training.export import calibration, calibration_pairs, measured
from training.lists.export import export, rows_of
from training.lists.kept import reader_of
from training.lists.model import from_pairs
from training.package import MODELS, RUNTIME, WEIGHTS, pin
from wellkept.models.multilingual import PIECES
from wellkept.models.relation import fitted
from wellkept.models.tokenizer.pairs import CLEARLY_DISTINCT


def main() -> None:
    """Command line of the export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    args = parser.parse_args()
    torch.set_num_threads(1)
    path, card, reader = WEIGHTS / "multilingual.onnx", WEIGHTS / "relation.json", reader_of(args.run, None)
    export(from_pairs(torch.load(args.run / "averaged.pt")), rows_of(reader), path, with_words=False)
    pieces = (args.run / "pieces.json").read_bytes()
    (WEIGHTS / PIECES).write_bytes(gzip.compress(pieces, mtime=0))
    pairs = [pair for pair in calibration_pairs() if pair.lang != "en"]
    scale, bias = calibration((pairs, measured(path, reader, pairs, words_in=WEIGHTS)))
    settings = json.loads(card.read_text(encoding="utf-8"))
    added = settings.pop("pieces")
    settings |= {
        "multilingual": {"scale": scale, "bias": bias, "clearly_distinct": CLEARLY_DISTINCT},
        "pieces": added,
    }
    card.write_text(json.dumps(settings, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    pin(MODELS / "multilingual.py", PIECES_SHA256=hashlib.sha256(pieces).hexdigest())
    pin(RUNTIME, MULTILINGUAL_SHA256=path, CARD_SHA256=card, FITTED_SHA256=fitted(settings))
    print(f"{len(pairs)} pairs, scale {scale}, bias {bias}")


if __name__ == "__main__":
    main()
