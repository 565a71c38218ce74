"""`wellkept calibrate`: measure an embedder on graded pairs and save its table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.cli.terminal import render
from wellkept.cli.terminal.groups import option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.config import calibration_folder

if TYPE_CHECKING:
    from wellkept.core.judging.calibration import Calibration
    from wellkept.models.similarity.graded import Measured

_BUILT_IN = "the calibration shipped with the embedder stays in use"


def calibrate(
    run: Session,
    *,
    pairs: Path | None = option(metavar="FILE", help="Your own graded pairs: JSON lines with a, b, grade, lang."),
) -> None:
    """Calibrate the embedder on graded pairs: find the raw cosine for each threshold, and save the table."""
    from wellkept.cli.terminal.opening import configured_embedder
    from wellkept.core.judging.calibration import THRESHOLDS, UNCALIBRATED
    from wellkept.engine.models.scale import Scale
    from wellkept.models.similarity import graded
    from wellkept.models.similarity.tables import Stored, Tables

    chosen = graded.shipped() if pairs is None else graded.read(pairs)
    embedder = configured_embedder(run.settings)
    with run.progress(f"Embedding {len(chosen.texts)} texts", len(chosen.texts)) as done:
        found = graded.measure(embedder.id, Scale(embedder).embed, chosen, progress=done)
    before = None if embedder.calibration is UNCALIBRATED else embedder.calibration
    file = None
    if before is None:
        stored = Stored(found.calibration, chosen.hash, own=not chosen.shipped)
        file = Tables(calibration_folder()).put(embedder.id, stored)
    report = {
        "embedder": embedder.id,
        "calibration": found.calibration.name,
        "pairs": found.pairs,
        "left_out": found.left_out,
        "thresholds": {f"{at:.2f}": round(found.calibration.cosine(at), 4) for at in THRESHOLDS},
        "rank_correlation": found.order,
        "error": {"grade": found.error.grade, "share": found.error.share},
        "knots": found.calibration.knots,
        "stored": str(file) if file is not None else "",
    }
    run.show(report, lambda: _view(found, before, embedder.id, str(file) if file is not None else ""))
    if before is not None:
        run.note(f"Nothing was stored: {_BUILT_IN}")


def _view(found: Measured, before: Calibration | None, name: str, file: str) -> render.Parts:
    left = ", ".join(f"{count} {lang}" for lang, count in found.left_out.items())
    from wellkept.core.judging.calibration import THRESHOLDS, UNCALIBRATED

    yield f"{one_line(name)}: fitted on {found.pairs} graded pairs" + (f", left out: {left}" if left else "")
    rows = [
        (f"{at:.2f}", f"{found.calibration.cosine(at):.3f}", f"{(before or UNCALIBRATED).cosine(at):.3f}")
        for at in THRESHOLDS
    ]
    yield render.rows_of(("similarity", "raw cosine", "before"), rows)
    yield f"Rank agreement with human grades: {found.order:.2f} (1 is perfect)"
    yield (
        f"Error on held-out pairs: {found.error.grade:.3f} from the grade; "
        f"shares at the thresholds within {found.error.share:.3f}"
    )
    if file:
        yield f"Saved to {file}"
