"""A store without its embedder: what embeds nothing needs no model, and works when it cannot be loaded."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.judging.calibration import UNCALIBRATED, Calibration
from wellkept.errors import ModelUnavailable
from wellkept.models.port import Embedded
from wellkept.types import Header


class Unloaded:
    """Stands for the embedder of a store while nothing is embedded; what waits in a queue is then left alone.

    Args:
        header: That of the store, whose embedder it goes by.
    """

    calibration: Calibration = UNCALIBRATED
    lexical = False

    def __init__(self, header: Header) -> None:
        self.id = header.embedder
        self.dim = header.dim

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Never answers.

        Raises:
            ModelUnavailable: Always.
        """
        raise ModelUnavailable("no embedder was loaded for this command", where=self.id, todo="Report this")
