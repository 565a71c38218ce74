"""The report on a retrieval set as JSON, and its terminal output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wellkept.cli.measuring.eval_tables import percent
from wellkept.evaluation.ratios import RESAMPLES, SEED
from wellkept.evaluation.retrieval_baseline import BASELINE, BASELINE_IS
from wellkept.evaluation.retrieval_metrics import DEPTHS, Answer, ceiling, compare, measure
from wellkept.evaluation.retrieval_reading import Collection
from wellkept.evaluation.retrieval_running import DEFAULT, Stored
from wellkept.evaluation.run import Setup

if TYPE_CHECKING:
    from wellkept.cli.terminal.render import Parts


GATE = "through the gate"
_NARROWER = ("no_adversarial", "no_lists")


def of_retrieval(
    collection: Collection,
    setup: Setup,
    stored: Stored,
    others: Mapping[str, Sequence[Answer]],
    *,
    gated: Stored | None = None,
    seconds: float,
) -> dict[str, Any]:
    """The whole report.

    Args:
        collection: The measured set.
        setup: The embedder, policy and kind.
        stored: The stored texts; its answers include those of `default`.
        others: The answers of all other settings, including the baseline.
        gated: The same set, written through the gate.
        seconds: Duration in seconds.
    """
    default, form = stored.answers[DEFAULT], collection.format
    return {
        **measure(default, form),
        "baseline": {"name": BASELINE, "what": BASELINE_IS, **_beside(default, others[BASELINE], collection)},
        "against": {name: _beside(default, found, collection) for name, found in others.items() if name != BASELINE},
        "stored": _held(stored),
        "through_gate": None if gated is None else _gated(default, gated, collection),
        "n": len(collection.questions),
        "set": collection.name,
        "format": form,
        "documents": collection.unit,
        "conversations": len(collection.documents),
        "without_evidence": collection.without_evidence,
        "repaired": collection.repaired,
        "evidence_in_documents": _ceiling(collection),
        "policy": setup.policy.hash,
        "embedder": setup.embedder.id,
        "kind": setup.kind,
        "judging": setup.judging,
        "resamples": RESAMPLES,
        "seed": SEED,
        "seconds": round(seconds, 3),
    }


def _beside(default: Sequence[Answer], other: Sequence[Answer], collection: Collection) -> dict[str, Any]:
    form = collection.format
    return {**measure(other, form), "default_over_it": compare(default, other, form)}


def _held(stored: Stored) -> dict[str, Any]:
    names = ("written", "rows", "repeats", "outcomes", "cut")
    return {name: getattr(stored, name) for name in names}


def _gated(default: Sequence[Answer], gated: Stored, collection: Collection) -> dict[str, Any]:
    answers, form = gated.answers[DEFAULT], collection.format
    return {**measure(answers, form), **_held(gated), "over_storing_everything": compare(answers, default, form)}


def _ceiling(collection: Collection) -> float:
    sources = {
        key: frozenset(source for document in documents for source in document.sources)
        for key, documents in collection.documents.items()
    }
    return ceiling(collection.questions, sources.__getitem__)


# --------------------------------------------------------------------------------------------
# Terminal output


def retrieval(report: Mapping[str, Any]) -> Parts:
    """The report as tables: the settings, then the categories of questions."""
    from wellkept.cli.terminal.render import rows_of, styled
    from wellkept.cli.terminal.safe import one_line

    headline = f"{report['n']} questions on {report['stored']['written']} {report['documents']}"
    headline += f" of {one_line(report['set'], limit=60)} ({report['conversations']} conversations)"
    yield styled(f"{headline} · embedder {one_line(report['embedder'], limit=80)} · {report['seconds']:.1f} s")
    yield ""
    rows = _settings(report)
    yield rows_of(("setting", *_headings(report)), [(name, *_figures(entry["metrics"])) for name, entry in rows])
    yield styled(_sure(report))
    yield ""
    yield rows_of(("default over", "R@5>", "95 %>", "R@10>", "95 %>", "better>", "worse>"), _gains(report))
    yield ""
    shown = [(name, entry) for name, entry in rows if name in (DEFAULT, GATE, BASELINE)]
    yield rows_of(("question type", "n>", *(f"{name}>" for name, _ in shown)), _groups(shown))
    yield styled("In the last table: recall@5 / recall@10, in %. Baseline: " + report["baseline"]["what"] + ".", "dim")
    if report["evidence_in_documents"] < 1:
        most = percent(report["evidence_in_documents"])
        yield styled(f"Only {most} % of the evidence is contained in these documents; no recall can be higher.")
    if report["through_gate"] is not None:
        yield styled(_gate_line(report))


def _settings(report: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    gated = report["through_gate"]
    return [
        (DEFAULT, report),
        *([(GATE, gated)] if gated is not None else []),
        *report["against"].items(),
        (BASELINE, report["baseline"]),
    ]


def _headings(report: Mapping[str, Any]) -> tuple[str, ...]:
    narrower = "1–4" if report["format"] == "locomo" else "no lists"
    return ("R@5>", "R@10>", f"{narrower}@5>", "@10>", "any@10>", "all@10>", "tokens@10>")


def _figures(metrics: Mapping[str, Any]) -> tuple[str, ...]:
    narrower = next(name for name in _NARROWER if f"recall_at_5_{name}" in metrics)
    names = [f"recall_at_{depth}" for depth in DEPTHS] + [f"recall_at_{depth}_{narrower}" for depth in DEPTHS]
    names += ["hit_any_at_10", "hit_all_at_10"]
    return (*(percent(metrics[name]) for name in names), f"{metrics['tokens_at_10']:.0f}")


def _sure(report: Mapping[str, Any]) -> str:
    """The confidence intervals of the default's figures; the table below compares the settings."""
    ends = (report["intervals"][f"recall_at_{depth}"] for depth in DEPTHS)
    intervals = (
        f"recall@{depth} {percent(low)} to {percent(high)}" for depth, (low, high) in zip(DEPTHS, ends, strict=True)
    )
    return f"95 % of {report['resamples']:,} resamples of the questions give the default {', '.join(intervals)}."


def _gains(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    compared = {name: entry["default_over_it"] for name, entry in report["against"].items()}
    compared[BASELINE] = report["baseline"]["default_over_it"]
    for name, entry in compared.items():
        yield name, *_gain(entry)


def _gain(entry: Mapping[str, Any]) -> tuple[str, ...]:
    cells = []
    for depth in DEPTHS:
        low, high = entry["intervals"][f"recall_at_{depth}"]
        cells += [_signed(entry["difference"][f"recall_at_{depth}"]), f"{_signed(low)} to {_signed(high)}"]
    return (*cells, str(entry["better"]), str(entry["worse"]))


def _groups(shown: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, ...]]:
    first = shown[0][1]
    for group in first["metrics"]["by_group"]:
        each = [entry["metrics"]["by_group"][group] for _, entry in shown]
        count = first["counts"]["by_group"][group]["recall_at_5"][1]
        cells = (f"{percent(found['recall_at_5'])} / {percent(found['recall_at_10'])}" for found in each)
        yield group.replace("_", " "), str(count), *cells


def _gate_line(report: Mapping[str, Any]) -> str:
    gated, stored = report["through_gate"], report["stored"]
    change = gated["over_storing_everything"]
    became = ", ".join(f"{count} {outcome}" for outcome, count in gated["outcomes"].items())
    gain = f"{_signed(change['difference']['recall_at_5'])} / {_signed(change['difference']['recall_at_10'])} points"
    return (
        f"Through the gate: recall {gain}; {gated['rows']} memories in place of {stored['rows']}, "
        f"{gated['repeats']} verbatim repeats in place of {stored['repeats']} ({became})."
    )


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f}"
