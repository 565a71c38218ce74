"""Figures and facts about the machine, and their output."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Figure:
    """One measured number.

    Attributes:
        name: Stable name for programs.
        label: Description for readers.
        value: The number; None if it could not be measured, with the reason in `note`.
        unit: "x" for a ratio, otherwise a unit.
        n: Number of single measurements, of which the value is the median.
        goal: The goal as text; empty without one.
        met: Whether the goal is met; None without a goal or a value.
        note: Remarks.
    """

    name: str
    label: str
    value: float | None
    unit: str
    n: int
    goal: str = ""
    met: bool | None = None
    note: str = ""


def least(name: str, label: str, values: Sequence[float], *, goal: float, unit: str = "x") -> Figure:
    """The median of the values, with a goal as a minimum."""
    value = statistics.median(values)
    return Figure(name, label, value, unit, len(values), f"at least {goal:g}", value >= goal)


def most(name: str, label: str, values: Sequence[float], *, goal: float, unit: str = "x") -> Figure:
    """The median of the values, with a goal as a maximum."""
    value = statistics.median(values)
    return Figure(name, label, value, unit, len(values), f"at most {goal:g}", value <= goal)


def plain(name: str, label: str, values: Sequence[float], *, unit: str) -> Figure:
    """The median of the values, without a goal."""
    return Figure(name, label, statistics.median(values), unit, len(values))


def missing(name: str, label: str, why: str) -> Figure:
    """A figure that could not be measured on this machine."""
    return Figure(name, label, None, "", 0, note=why)


# --------------------------------------------------------------------------------------------
# Machine


def machine(folder: Path) -> dict[str, str]:
    """Facts about the machine that affect the figures, without identifying it."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "numpy": np.__version__,
        "onnxruntime": _version("onnxruntime"),
        "cpus": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "architecture": platform.machine(),
        "synced write of 4 KiB": f"{_synced_write(folder):.2f} ms",
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _synced_write(folder: Path) -> float:
    """Milliseconds to write and sync one page, the part of a write that no code can avoid."""
    times = []
    with (folder / "sync").open("wb") as file:
        for _ in range(51):
            started = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times)


# --------------------------------------------------------------------------------------------
# Printing


def as_json(facts: Mapping[str, str], figures: Sequence[Figure]) -> str:
    """Everything as one JSON object."""
    return json.dumps({"machine": facts, "figures": [asdict(figure) for figure in figures]}, indent=2)


def as_table(facts: Mapping[str, str], figures: Sequence[Figure]) -> str:
    """Everything as text: one line per figure with its goal; ratios are marked with x."""
    rows = [("", "median", "n", "goal", "")]
    rows += [(figure.label, _value(figure), str(figure.n or ""), figure.goal, _verdict(figure)) for figure in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  ".join(f"{name} {value}" for name, value in facts.items()), ""]
    for label, value, count, goal, verdict in rows:
        cells = (label.ljust(widths[0]), value.rjust(widths[1]), count.rjust(widths[2]), goal.ljust(widths[3]), verdict)
        lines.append("  ".join(cells).rstrip())
    notes = [f"{figure.label}: {figure.note}" for figure in figures if figure.note]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _value(figure: Figure) -> str:
    if figure.value is None:
        return "none"
    digits = 0 if figure.value >= 100 else 2
    return f"{figure.value:.{digits}f} {figure.unit}"


def _verdict(figure: Figure) -> str:
    if figure.met is None:
        return ""
    return "met" if figure.met else "NOT MET"
