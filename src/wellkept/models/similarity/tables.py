"""Calibrations measured on this machine, one file per embedder.

A file can always be recomputed: an unreadable one counts as missing and is logged. If the folder is not writable, a
warning is logged and the next process measures again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tempfile
from pathlib import Path

from wellkept.core.judging.calibration import Calibration
from wellkept.frozen import frozen
from wellkept.models.similarity import graded
from wellkept.parsing import parsed_json

log = logging.getLogger("wellkept")

FORMAT = 1


@frozen
class Stored:
    """A stored calibration.

    Attributes:
        pairs: Hash of the graded pairs it was fitted on.
        own: Whether the pairs were the user's own.
    """

    calibration: Calibration
    pairs: str
    own: bool = False

    def is_of(self, shipped_hash: str) -> bool:
        """Whether it is current: fitted on the user's own pairs or on the packaged set."""
        return self.own or self.pairs == shipped_hash


class Tables:
    """The folder of stored calibrations.

    Args:
        folder: Created with the first file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, embedder_id: str) -> Path:
        """File of an embedder's calibration; readable and unique per id."""
        plain = re.sub(r"[^a-z0-9]+", "-", embedder_id.lower()).strip("-")[:60]
        return self._folder / f"{plain}-{hashlib.sha256(embedder_id.encode()).hexdigest()[:12]}.json"

    def get(self, embedder_id: str) -> Stored | None:
        """The stored calibration of an embedder; None if missing or unreadable."""
        file = self.file(embedder_id)
        try:
            return _stored(parsed_json(file.read_bytes()), embedder_id)
        except FileNotFoundError:
            return None
        # Errors of JSON, fields or calibration all mean "no calibration".
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("The calibration in %s cannot be used and will be made again: %s", file, error)
            return None

    def put(self, embedder_id: str, stored: Stored) -> Path | None:
        """Store a calibration atomically; None where the folder is not writable."""
        file = self.file(embedder_id)
        told = {
            "format": FORMAT,
            "embedder": embedder_id,
            "name": stored.calibration.name,
            "pairs": stored.pairs,
            "own": stored.own,
            "knots": stored.calibration.knots,
        }
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=file.name, dir=self._folder)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as part:
                    json.dump(told, part)
                os.replace(name, file)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            log.warning("The calibration of %s cannot be kept in %s: %s", embedder_id, self._folder, error.strerror)
            return None
        return file


class KeptTables:
    """Looks up calibrations; measures and stores missing ones on the packaged graded pairs."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def stored(self, embedder_id: str) -> tuple[Calibration | None, bool]:
        """The stored calibration, and whether it is current for the packaged pairs."""
        found = self._tables.get(embedder_id)
        if found is None:
            return None, False
        return found.calibration, found.is_of(graded.shipped().hash)

    def measure(self, embedder_id: str, embed: graded.Embed) -> Calibration:
        """Measure and store a new calibration.

        Raises:
            ModelError: The embedder failed, or its cosines do not correlate with the grades.
        """
        pairs = graded.shipped()
        table = graded.measure(embedder_id, embed, pairs).calibration
        self._tables.put(embedder_id, Stored(table, pairs.hash))
        return table


def _stored(told: object, embedder_id: str) -> Stored:
    if not isinstance(told, dict) or told["format"] != FORMAT or told["embedder"] != embedder_id:
        raise ValueError("it is not of this embedder and format")
    knots = tuple((float(raw), float(similarity)) for raw, similarity in told["knots"])
    return Stored(Calibration(str(told["name"]), knots), str(told["pairs"]), told["own"] is True)
