"""Ablation: the same files under several configurations, in one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wellkept.core.judging.calibration import rounded
from wellkept.evaluation.labelled_files import Pair, PairFile
from wellkept.evaluation.pair_metrics import Case
from wellkept.evaluation.report import measure_pairs
from wellkept.evaluation.run import Judging, Progress, Setup, Warm, available, run_pairs
from wellkept.evaluation.tiers import TIERS, Alike, Tier, model_alone
from wellkept.frozen import frozen
from wellkept.models.registry import load_relation_model

if TYPE_CHECKING:
    from wellkept.core.judging.evidence import ContradictionFn
    from wellkept.models.port import RelationModel

_NAMES: dict[Judging, str] = {"default": "rules and model", "rules": "rules only"}
_SCALES = ("raw", "scaled")
MODEL = "model only"
NLI = "rules and foreign NLI"


@frozen
class Row:
    """One configuration and its metrics."""

    name: str
    metrics: dict[str, Any]
    seconds: float


def ablation(
    files: Sequence[PairFile], setup: Setup, *, nli: ContradictionFn | None, progress: Callable[[str], Progress]
) -> Iterator[Row]:
    """The rows of the table: available configurations, an external NLI model if given, and cosine tiers.

    Args:
        files: Pairs.
        setup: Other settings; its embedder should cache vectors.
        nli: An external contradiction check.
        progress: Makes a progress reporter for a row name.
    """
    for judging in available():
        yield _ran(_NAMES[judging], files, replace(setup, judging=judging), progress)
    if nli is not None:
        yield _ran(NLI, files, replace(setup, judging="rules", contradiction_fn=nli), progress)
    warm = setup.embedder if isinstance(setup.embedder, Warm) else Warm(setup.embedder)
    model = load_relation_model("auto") if "default" in available() else None
    if model is not None:
        yield _alone(files, setup, model)
    for scale in _SCALES:
        for name, tier in TIERS.items():
            started = time.perf_counter()
            cases = [[_played(pair, tier, setup, warm, scale) for pair in file.pairs] for file in files]
            metrics = measure_pairs(files, cases)["metrics"]
            yield Row(f"{name} {scale}", metrics, time.perf_counter() - started)


def _alone(files: Sequence[PairFile], setup: Setup, model: RelationModel) -> Row:
    started = time.perf_counter()
    bounds = model.bounds(setup.policy.for_kind(setup.kind).risk)
    cases = []
    for file in files:
        told = model.read([(pair.old, pair.new) for pair in file.pairs])
        cases.append(
            [
                Case(pair, model_alone(Alike(pair.old, pair.new, 0.0), opinion, bounds))
                for pair, opinion in zip(file.pairs, told, strict=True)
            ]
        )
    return Row(MODEL, measure_pairs(files, cases)["metrics"], time.perf_counter() - started)


def _ran(name: str, files: Sequence[PairFile], setup: Setup, progress: Callable[[str], Progress]) -> Row:
    started = time.perf_counter()
    done = progress(name)
    cases = [run_pairs(file.pairs, setup, done) for file in files]
    return Row(name, measure_pairs(files, cases)["metrics"], time.perf_counter() - started)


def _played(pair: Pair, tier: Tier, setup: Setup, warm: Warm, scale: str) -> Case:
    cosine = warm.cosine(setup.kind, pair.old, pair.new)
    if cosine is None:
        similarity = -1.0  # a text without a vector matches nothing
    else:
        similarity = rounded(cosine) if scale == "raw" else warm.calibration.similarity(cosine)
    return Case(pair, tier(Alike(pair.old, pair.new, similarity, setup.with_subject and bool(pair.subject))))
