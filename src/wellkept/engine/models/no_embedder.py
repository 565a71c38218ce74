"""Placeholder embedder: commands that never embed work without loading a model."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.judging.calibration import UNCALIBRATED, Calibration
from wellkept.errors import ModelUnavailable
from wellkept.models.port import Embedded
from wellkept.types import Header


class Unloaded:
    """Placeholder for commands that never embed: id and size come from the header. Queued writes are not flushed.

    Args:
        header: The header of the store; gives the embedder's id and size.
    """

    calibration: Calibration = UNCALIBRATED
    lexical = False

    def __init__(self, header: Header) -> None:
        self.id = header.embedder
        self.dim = header.dim

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Not available.

        Raises:
            ModelUnavailable: Always.
        """
        raise ModelUnavailable("no embedder was loaded for this command", where=self.id, todo="Report this")
