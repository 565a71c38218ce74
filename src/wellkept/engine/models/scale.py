"""The similarity scale of the embedder, measured once, when the first comparison needs it.

An embedder without a calibration is measured on graded pairs: about 1,300 short texts are embedded once,
outside any transaction, and the table is kept for later processes. When that fails, raw cosines are used,
and results report `calibration` as degraded.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from wellkept.core.judging.calibration import Calibration
from wellkept.engine.models import fail_open
from wellkept.engine.models.embedding import usable
from wellkept.errors import ModelError
from wellkept.models.loading import LoadingLock
from wellkept.models.port import Embedded, Embedder
from wellkept.types import Degradation

log = logging.getLogger("wellkept")

PAUSE_SECONDS = 300.0
"""After a failure the measurement is not retried for this long: each attempt may cost many calls."""
_ONE_AT_A_TIME = LoadingLock()
"""Serialises measurements, so that a second store with the same embedder uses the first one's table."""

Embed = Callable[[Sequence[str]], list[Embedded]]


class Calibrator(Protocol):
    """Loads or measures the calibration table of an embedder."""

    def stored(self, embedder_id: str) -> tuple[Calibration | None, bool]:
        """The stored table, and whether it is still valid."""

    def measure(self, embedder_id: str, embed: Embed) -> Calibration:
        """A new table, stored for later; raises `ModelError` when the embedder fails."""


class Scale:
    """The calibration table that turns cosines of an embedder into similarities.

    Args:
        embedder: Its own table is used when there is no calibrator.
        calibrator: Measures an embedder without a table; None turns this off.
        automatic: Whether to measure here; otherwise a stored table is only looked up.
    """

    def __init__(self, embedder: Embedder, calibrator: Calibrator | None = None, *, automatic: bool = True) -> None:
        self._embedder = embedder
        self._calibrator = calibrator
        self._table = embedder.calibration
        self._settled = calibrator is None
        self._failed_at: float | None = None
        if calibrator is not None:
            table, holds = calibrator.stored(embedder.id)
            self._table = self._table if table is None else table
            self._settled = (table is not None and holds) or not automatic

    @property
    def calibration(self) -> Calibration:
        """The table known so far."""
        return self._table

    @property
    def degraded(self) -> tuple[Degradation, ...]:
        """Reports a measurement that was due and failed."""
        return ("calibration",) if self._failed_at is not None and not self._settled else ()

    @property
    def pending(self) -> bool:
        """Whether `prepare` has work to do."""
        if self._settled:
            return False
        return self._failed_at is None or time.monotonic() - self._failed_at >= PAUSE_SECONDS

    def prepare(self) -> None:
        """Measure the embedder if that is due; outside any transaction. Never raises."""
        calibrator = self._calibrator
        if calibrator is None or not self.pending:
            return
        with _ONE_AT_A_TIME:
            if not self.pending:
                return
            table, holds = calibrator.stored(self._embedder.id)
            try:
                self._table = table if table is not None and holds else self._measured(calibrator)
            except ModelError as error:
                self._failed_at = time.monotonic()
                log.warning("Calibration failed, similarity is nominal: %s", error)
            else:
                self._settled = True

    def _measured(self, calibrator: Calibrator) -> Calibration:
        log.info("Measuring the embedder %s once", self._embedder.id)
        return calibrator.measure(self._embedder.id, self.embed)

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """The embedder's answer, guarded and validated."""
        return list(usable(fail_open.embed(self._embedder, texts), len(texts), self._embedder))
