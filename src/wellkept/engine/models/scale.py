"""The similarity scale of the embedder in use; measured once, when the first comparison needs it.

An embedder that brings no calibration is measured on graded pairs: about 1,300 short texts are
embedded once, outside any transaction, and the table is kept for every later process. When that
fails, its cosines are taken as they are, and results say `calibration`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from wellkept.core.judging.calibration import Calibration
from wellkept.engine.models import fail_open
from wellkept.engine.models.embedding import usable
from wellkept.errors import ModelError
from wellkept.models.port import Embedded, Embedder
from wellkept.types import Degradation

log = logging.getLogger("wellkept")

PAUSE_SECONDS = 300.0
"""After a failure nothing is sent again for this long: each attempt may cost many calls."""
_ONE_AT_A_TIME = threading.Lock()
"""Two stores with one embedder measure it once: the second finds the table of the first."""

Embed = Callable[[Sequence[str]], list[Embedded]]


class Calibrator(Protocol):
    """Finds or makes the table of an embedder."""

    def stored(self, embedder_id: str) -> tuple[Calibration | None, bool]:
        """The table that was kept, and whether it still holds."""
        ...

    def measure(self, embedder_id: str, embed: Embed) -> Calibration:
        """A new table, kept for later; raises `ModelError` when the embedder gives none."""
        ...


class Scale:
    """Which table turns the cosines of an embedder into similarities.

    Args:
        embedder: Its own table is used when there is no calibrator.
        calibrator: For an embedder that nobody has measured; None to leave it as it is.
        automatic: Whether it may be measured here, or a stored table only be looked up.
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
        """The table as far as it is known now."""
        return self._table

    @property
    def degraded(self) -> tuple[Degradation, ...]:
        """Says when the table should have been measured and could not be."""
        return ("calibration",) if self._failed_at is not None and not self._settled else ()

    @property
    def pending(self) -> bool:
        """Whether `prepare` has something to do."""
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
        """The embedder's answer, guarded and checked like any other."""
        return list(usable(fail_open.embed(self._embedder, texts), len(texts), self._embedder))
