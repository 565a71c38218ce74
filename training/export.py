"""From a run of the list reader to the package: exact integers, calibrated probabilities, thresholds under a bound.

    python -m training.export --run build/lists --vocabulary vocab.txt

Probabilities and thresholds are fitted on the calibration split with the exported model itself,
so that what is measured is what runs. The thresholds are chosen by fixed-sequence testing with
Clopper-Pearson bounds (`wellkept.core.judging.risk_bounds`).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from training.compose import Pair
from training.lists.export import export, rows_of
from training.lists.kept import reader_of
from training.lists.model import from_pairs
from training.material import cases, frames
from training.natural import natural_pairs, stream_pairs
from training.package import RUNTIME, WEIGHTS, pin
from wellkept.core.differences.find import differences
from wellkept.core.judging.compare import is_vetoed
from wellkept.core.judging.risk_bounds import least_threshold, upper_bound
from wellkept.models.multilingual import vectors_of
from wellkept.models.onnx import session
from wellkept.models.relation import fitted
from wellkept.models.tokenizer.lists import ListReader, fed
from wellkept.models.tokenizer.pairs import LABELS, logits_of

CONFIDENCE = 0.95
RISKS = {
    # Largest rate of each error among the pairs where the act would be one.
    "strict": {"skip": 0.005, "merge": 0.01, "link": 0.10, "evolve": 0.01, "flag": 0.07, "supersede": 0.005},
    "balanced": {"skip": 0.01, "merge": 0.02, "link": 0.20, "evolve": 0.02, "flag": 0.14, "supersede": 0.01},
}
"""Among near misses. `skip` bounds updates lost (a conflict or refinement dropped as a repeat), `merge` distinct
texts dropped as one; the threshold for skipping keeps both."""
STREAM_RISKS = {
    "strict": {"skip": 0.002, "link": 0.01, "evolve": 0.002, "flag": 0.0035, "supersede": 0.002},
    "balanced": {"skip": 0.004, "link": 0.02, "evolve": 0.004, "flag": 0.006, "supersede": 0.004},
}
"""Among other facts about the same person or thing, of which a real stream mostly consists; an act must keep
both bounds. Near misses alone are no measure of what a review list will hold."""
WORDS = {"words_near": 0.4, "words_far": 0.6}
"""Share of content words that a repeat must have in common besides, above and below similarity .90. Read off a
stream of 600 vague facts: of 37 repeats that the model was sure of, these left 13, and most of the wrong ones out."""


def main() -> None:
    """Command line of the export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--vocabulary", type=Path, required=True, help="MiniLM's vocab.txt")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    extra = [word for word, _ in json.loads((args.run / "added.json").read_text())]
    path, reader = args.out / "relation.onnx", reader_of(args.run, args.vocabulary)
    export(from_pairs(torch.load(args.run / "averaged.pt")), rows_of(reader), path)
    pairs, stream = calibration_pairs(), stream_pairs(cases("calibrate"))
    settings = fit((pairs, measured(path, reader, pairs)), (stream, measured(path, reader, stream)))
    known = json.loads((WEIGHTS / "relation.json").read_text(encoding="utf-8"))
    settings |= {"multilingual": known["multilingual"], "pieces": extra}
    (args.out / "relation.json").write_text(json.dumps(settings, ensure_ascii=False, indent=1) + "\n")
    pin(RUNTIME, WEIGHTS_SHA256=path, CARD_SHA256=args.out / "relation.json", FITTED_SHA256=fitted(settings))
    print(json.dumps({name: value for name, value in settings.items() if name != "pieces"}, indent=1))


def calibration_pairs() -> list[Pair]:
    """Each pair once that the calibration split's cases and frames give, in both orders."""
    pairs = natural_pairs(cases("calibrate"), frames("calibrate"))
    return [*pairs, *(pair.swapped() for pair in pairs)]


def measured(
    path: Path, reader: ListReader, pairs: Sequence[Pair], *, words_in: Path | None = None
) -> NDArray[np.float64]:
    """Logits of pairs as the product makes them, one row to a run.

    Args:
        words_in: Folder of the vectors of pieces, of a network that does not hold them itself.
    """
    running = session(path.read_bytes(), what="the model", where=path, todo="", exact=True)
    known: dict[tuple[str, str], NDArray[np.float64]] = {}

    def run(first: str, second: str) -> NDArray[np.float64]:
        if (first, second) not in known:
            row = reader.row(reader.read(first), [reader.read(second)])
            feed = fed(row) if words_in is None else {**fed(row), "words": vectors_of([row.pieces], words_in)}
            known[first, second] = np.round(running.run(None, feed)[0][0], 4)
        return known[first, second]

    return np.array([logits_of(run, pair.old, pair.new) for pair in pairs])


Measured: TypeAlias = tuple[Sequence[Pair], NDArray[np.float64]]
"""Pairs and their logits."""


def fit(near: Measured, stream: Measured) -> dict[str, object]:
    """Scale and bias of the logits, then the thresholds of each risk."""
    (pairs, logits), (others, raw) = near, stream
    scale, bias = calibration(near)
    shares, streamed = (_shares(given * scale + bias) for given in (logits, raw))
    bounds: dict[str, dict[str, float]] = {}
    told: dict[str, object] = {}
    for risk, most in RISKS.items():
        bounds[risk], measured_near = thresholds(pairs, shares, most)
        there, measured_stream = thresholds(others, streamed, STREAM_RISKS[risk])
        bounds[risk] = {act: max(value, there[act]) for act, value in bounds[risk].items()} | WORDS
        told[risk] = {"near_misses": measured_near, "same_subject": measured_stream}
    return {
        "scale": scale,
        "bias": bias,
        "bounds": bounds,
        "calibration": {
            "pairs": {"near_misses": len(pairs), "same_subject": len(others)},
            "confidence": CONFIDENCE,
            "largest_error": {"near_misses": RISKS, "same_subject": STREAM_RISKS},
            "measured": told,
            "accuracy": round(
                float(np.mean([LABELS[row.argmax()] in pair.labels for pair, row in zip(pairs, shares, strict=True)])),
                4,
            ),
        },
    }


def calibration(near: Measured) -> tuple[float, list[float]]:
    """Scale and bias of the logits by maximum likelihood on near misses.

    Each relation weighs the same in the fit, however many pairs of it the material happens to give:
    nobody knows what a store will be told, so no relation is expected before another.
    """
    pairs, logits = near
    targets = torch.tensor([[1.0 if label in pair.labels else 0.0 for label in LABELS] for pair in pairs])
    groups = ["refines" if "generalises" in pair.labels else pair.labels[0] for pair in pairs]
    counts = Counter(groups)
    weights = torch.tensor([1.0 / counts[group] for group in groups])
    given = torch.tensor(logits, dtype=torch.float32)
    scale = torch.ones(1, requires_grad=True)
    shift = torch.zeros(4, requires_grad=True)
    optimiser = torch.optim.LBFGS([scale, shift], max_iter=200)

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        # Refines and generalises share a bias: the swapped pair must have the mirrored opinion.
        shares = (given * scale + shift[[0, 1, 1, 2, 3]]).log_softmax(1)
        loss = -(weights * (shares + targets.clamp(min=1e-9).log()).logsumexp(1)).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    bias = [round(float(value), 4) for value in shift.detach()[[0, 1, 1, 2, 3]]]
    return round(float(scale), 4), bias


def _shares(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray((powers / powers.sum(axis=1, keepdims=True)).round(4))


def thresholds(
    pairs: Sequence[Pair], shares: NDArray[np.float64], most: dict[str, float]
) -> tuple[dict[str, float], dict[str, object]]:
    """The least probability of each act, and what acting from there does on the calibration pairs."""
    # What the rules forbid is never a repeat, whatever the model says; the bound is that of both together.
    barred = np.array([is_vetoed(pair.new, pair.old, differences(pair.old, pair.new)) for pair in pairs])
    leads = np.isin(shares.argmax(axis=1), (0, 2))
    repeats = np.where(leads & ~barred, (shares[:, 0] + shares[:, 2]).round(4), 0.0)
    nothing_new = [bool({"same", "generalises"} & set(pair.labels)) for pair in pairs]
    refines = np.where(shares.argmax(axis=1) == 1, shares[:, 1], 0.0)
    conflict = np.where(shares.argmax(axis=1) == 3, shares[:, 3], 0.0)
    possible = np.where(shares.argmax(axis=1) >= 3, shares[:, 3], 0.0)
    apart = [not new and "distinct" not in pair.labels for pair, new in zip(pairs, nothing_new, strict=True)]
    strange = ["distinct" in pair.labels for pair in pairs]
    acts = {
        # An act on the pairs of the other kind is neither right nor wrong here.
        "skip": (repeats, [not wrong for wrong in apart] if any(nothing_new) else nothing_new),
        "merge": (repeats, [not wrong for wrong in strange]),
        "link": (repeats, nothing_new),
        "evolve": (refines, ["refines" in pair.labels for pair in pairs]),
        "flag": (possible, ["conflict" in pair.labels for pair in pairs]),
        "supersede": (conflict, ["conflict" in pair.labels for pair in pairs]),
    }
    found: dict[str, float] = {}
    told: dict[str, object] = {}
    for act, (scores, right) in acts.items():
        if act not in most:
            continue
        wrong = [not good for good in right]
        found[act] = least_threshold(list(scores), wrong, most=most[act], confidence=CONFIDENCE)
        acted = scores >= found[act]
        errors = int(np.sum(acted & np.array(wrong)))
        right = nothing_new if act in ("skip", "merge") else right
        told[act] = {
            "errors": errors,
            "could_be_wrong": sum(wrong),
            "bound": round(upper_bound(errors, sum(wrong), CONFIDENCE), 4),
            "share_of_right_ones": round(float(np.mean(acted[np.array(right)])), 3) if any(right) else None,
        }
    found["skip"] = max(found["skip"], found.pop("merge", 0.0))
    return found, told


if __name__ == "__main__":
    main()
