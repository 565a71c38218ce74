"""Builds the printed report, and the list of wrong cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from wellkept.engine.models.fail_open import with_second_reader
from wellkept.evaluation import pair_metrics, public_metrics, story_metrics
from wellkept.evaluation.asked import endings
from wellkept.evaluation.asked.endings import StoryEnd
from wellkept.evaluation.labelled_files import PairFile
from wellkept.evaluation.pair_metrics import Case
from wellkept.evaluation.ratios import RESAMPLES, SEED, values_of
from wellkept.evaluation.run import Setup
from wellkept.evaluation.story_metrics import StorySeen


def measure_pairs(files: Sequence[PairFile], cases: Sequence[Sequence[Case]]) -> dict[str, Any]:
    """Metrics of all files: pairs of our own format pooled, public sets by file and as means.

    Returns:
        `metrics`, `intervals`, and, for our own format, `counts`, `confusion` and `outcomes`; a row per file under
        `files`.
    """
    own = [case for file, of_file in zip(files, cases, strict=True) if not file.public for case in of_file]
    public = [(file.name, of_file) for file, of_file in zip(files, cases, strict=True) if file.public]
    report: dict[str, Any] = {"metrics": {}, "intervals": {}}
    if own:
        report |= pair_metrics.measure(own)
    rows = [{"file": file.name, "n": len(file.pairs)} for file in files if not file.public]
    if public:
        found = public_metrics.measure(public)
        overlap = set(report["metrics"]) & set(found["metrics"])
        # Equal names with two definitions would be confused: the public one gets a prefix.
        renamed = {name: f"public_{name}" if name in overlap else name for name in found["metrics"]}
        report["metrics"] |= {renamed[name]: value for name, value in found["metrics"].items()}
        report["intervals"] |= {renamed[name]: value for name, value in found["intervals"].items()}
        rows += found["files"]
    report["files"] = rows
    return report


def of_pairs(
    files: Sequence[PairFile], cases: Sequence[Sequence[Case]], setup: Setup, *, seconds: float
) -> dict[str, Any]:
    """The report on pairs."""
    everything = [case for of_file in cases for case in of_file]
    return {
        **measure_pairs(files, cases),
        "n": len(everything),
        "kind": setup.kind,
        "with_subject": setup.with_subject,
        "degraded": _degraded(case.seen.degraded for case in everything),
        **_surroundings(setup, (case.seen.model for case in everything), seconds),
    }


def of_stories(name: str, stories: Sequence[StorySeen], setup: Setup, *, seconds: float) -> dict[str, Any]:
    """The report on stories."""
    return {
        **story_metrics.measure(stories),
        "n": len(stories),
        "writes": sum(len(seen.writes) for seen in stories),
        "queries": sum(len(seen.queries) for seen in stories),
        "files": [{"file": name, "n": len(stories)}],
        "with_subject": setup.with_subject,
        **_surroundings(setup, (write.model for seen in stories for write in seen.writes), seconds),
    }


def of_asked(
    name: str, columns: Sequence[tuple[float, Sequence[StoryEnd]]], setup: Setup, *, answers: str, seconds: float
) -> dict[str, Any]:
    """The figures at the end of stories, for each number of questions per 100 writes."""
    ends = columns[0][1] if columns else ()
    return {
        "n": len(ends),
        "writes": sum(len(end.story.writes) for end in ends),
        "queries": sum(len(end.queries) for end in ends),
        "files": [{"file": name, "n": len(ends)}],
        "answers": answers,
        "asked": [{"ask": budget, "metrics": values_of(endings.figures(found))} for budget, found in columns],
        **_surroundings(setup, _relation_models(setup), seconds),
    }


def _relation_models(setup: Setup) -> list[str]:
    """The id of the relation model as the policy uses it."""
    if setup.relation_model is None:
        return []
    model = setup.relation_model
    return [(model if setup.policy.second_reader == "off" else with_second_reader(model)).id]


def wrong_pairs(files: Sequence[PairFile], cases: Sequence[Sequence[Case]]) -> Iterator[dict[str, Any]]:
    """A row for every pair with an error."""
    for file, of_file in zip(files, cases, strict=True):
        for case in of_file:
            wrong = public_metrics.wrong(case) if file.public else pair_metrics.wrong(case)
            if wrong:
                yield _wrong_pair(file, case, wrong)


def wrong_stories(stories: Iterable[StorySeen]) -> Iterator[dict[str, Any]]:
    """A row for every write and query with an error."""
    for story in stories:
        for number, seen in enumerate(story.writes, 1):
            if wrong := story_metrics.wrong_write(seen):
                yield {
                    "id": story.story.id,
                    "write": number,
                    "text": seen.write.text,
                    "expected": f"{seen.write.act} {seen.write.key}".strip(),
                    "got": seen.kept,
                    "wrong": wrong,
                    "outcome": seen.outcome,
                    "reasons": seen.reasons,
                    "hidden": seen.wrongly_hidden,
                }
        for number, asked in enumerate(story.queries, 1):
            if wrong := story_metrics.wrong_query(asked):
                yield {
                    "id": story.story.id,
                    "query": number,
                    "text": asked.query.text,
                    "expected": asked.query.answer,
                    "stale": asked.query.stale,
                    "got": asked.texts[: story_metrics.TOP],
                    "wrong": wrong,
                }


def _wrong_pair(file: PairFile, case: Case, wrong: list[str]) -> dict[str, Any]:
    pair, seen = case.pair, case.seen
    return {
        "id": pair.id,
        "file": file.name,
        "old": pair.old,
        "new": pair.new,
        "expected": pair.label or pair.gold,
        "subtype": pair.subtype,
        "lang": pair.lang,
        "got": seen.relation,
        "wrong": wrong,
        "outcome": seen.outcome,
        "kept": seen.kept,
        "similarity": seen.similarity,
        "confidence": seen.confidence,
        "reasons": seen.reasons,
        "differences": seen.differences,
        "degraded": seen.degraded,
    }


def _degraded(found: Iterable[Sequence[str]]) -> dict[str, int]:
    return dict(sorted(Counter(word for words in found for word in words).items()))


def _surroundings(setup: Setup, models: Iterable[str], seconds: float) -> dict[str, Any]:
    asked = sorted({model for model in models if model})
    return {
        "policy": setup.policy.hash,
        "embedder": setup.embedder.id,
        "model": ", ".join(asked) or None,
        "judging": setup.judging,
        "resamples": RESAMPLES,
        "seed": SEED,
        "seconds": round(seconds, 3),
    }
