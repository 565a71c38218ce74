"""Findings of `wellkept doctor` about questions: how the store asks, and how often its automatic acts were wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wellkept.cli.operating.findings import Finding
from wellkept.core.asking.error_rate import in_words
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.types import AskingReport

_SHOWN = 5
"""Most namespaces whose lessons are told one by one."""


def asking_findings(parts: Sequence[MemoryStore], per_100: float) -> Iterator[Finding]:
    """The findings about the questions of these namespaces.

    Args:
        parts: A store for each namespace.
        per_100: Questions per 100 writes, by the policy.
    """
    reports = {part.namespace: part.asking() for part in parts}
    waiting = sum(report.open for report in reports.values())
    budget = f"at most {per_100:g} per 100 writes" if per_100 else "none are asked (`ask = 0` in the policy)"
    yield Finding("questions", "ok", f"{budget}; {waiting} open", "See `wellkept questions`" if waiting else "")
    telling = {name: lines for name, report in reports.items() if (lines := list(_lessons(report)))}
    for name, lines in list(telling.items())[:_SHOWN]:
        for line in lines:
            yield Finding("lessons", "ok", f"{name}: {line}", "`wellkept forget-lessons` forgets them")
    if len(telling) > _SHOWN:
        yield Finding("lessons", "ok", f"{count_of(len(telling) - _SHOWN, 'more namespace')} with lessons")


def _lessons(report: AskingReport) -> Iterator[str]:
    """What answers have taught a namespace, a line for each act."""
    for act, checked in report.checked.items():
        said = [in_words(act, report.wrong[act], checked)] if checked else []
        shift = report.shifts[act]
        if shift:
            said.append(f"its least probability is {abs(shift):g} {'higher' if shift > 0 else 'lower'} here")
        if said:
            yield "; ".join(said if checked else [f"{act}s were found wrong", *said])
