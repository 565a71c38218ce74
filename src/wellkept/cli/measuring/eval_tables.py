"""Terminal output of `wellkept eval`: rates, then the answers of the judge, then groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wellkept.cli.terminal.render import rows_of, styled
from wellkept.cli.terminal.safe import one_line
from wellkept.evaluation.pair_metrics import CLASSES, HARMS
from wellkept.evaluation.tiers import LEGEND
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from wellkept.cli.terminal.render import Parts


_PAIRS: Mapping[str, str] = {
    "updates_lost": "conflict, refines: the new text is in no place a reader finds",
    "false_merges": "distinct, refines, conflict: one row, and not the new text",
    "duplicates_missed": "same: two rows",
    "repeats_flagged": "same: two rows, but linked or listed as a repeat",
    "wrong_supersessions": "distinct, same, refines: the old one is hidden wrongly",
    "replaced_by_refinement": "refines: the fuller text took the place of the old one",
    "unrelated_touched": "unrelated: anything but two rows",
    "accuracy": "all: judged right",
    "undecided": "all: judged alike, and no more than that",
}
_STORIES: Mapping[str, str] = {
    "stale_first": "queries whose answer changed: the first hit says the old one",
    "stale_first_all": "all queries: the same",
    "current_first": "all queries: the first hit says what holds now",
    "current_in_top_3": "all queries: one of the first three does",
    "each_once": "all queries: no two of the first ten hits say the same",
    "duplicates_missed_per_100": "writes that say again what another current row says",
    "lost_updates": "updates, details, late imports: in no place a reader finds",
    "lost_statements": "first statements: the same",
    "wrong_supersessions": "writes that hid what still holds",
    "stale_left": "updates: the old value is still a current row",
    "updates_unmarked": "updates: such a row, and nothing marks it",
    "wrong_folds": "writes that became a wording of something else",
    "wrong_marks": "writes that marked what still holds",
    "findable": "texts that their own words find, in the first three",
    "noise_stored": "noise: it became a row",
}
_ASKED: Mapping[str, str] = {
    "shown_twice_per_100": "restatements that stand as a row of their own, per 100 writes",
    "unmarked": "updates: an older value is neither superseded nor marked",
    "stale_first": "queries whose answer changed: the first memory says the old one",
    "current_first": "all queries: the first hit says what holds now",
    "current_in_top_3": "all queries: one of the first three does",
    "each_once": "all queries: no two of the first ten hits say the same",
    "wrong_folds": "writes that stand behind a memory that says something else",
    "wrong_marks": "writes that marked or replaced what still holds",
    "lost": "texts that are in no row",
    "questions_per_100": "questions, per 100 writes",
    "tokens_per_100": "their length for an agent, in tokens per 100 writes",
}
_SCORES = ("precision", "recall", "f1")
_GROUP = ("pairs>", "accuracy>", "lost>", "merged>", "missed>", "superseded>")
_PUBLIC: Mapping[str, tuple[str, str]] = {
    "swallowed_contradictions": ("lost>", "contradictions whose new text is in no place a reader finds"),
    "related_merged": ("merged>", "related or unrelated pairs that ended as one row"),
    "duplicates_found": ("found>", "duplicates that ended as one row"),
    "duplicates_judged_same": ("same>", "duplicates judged the same"),
    "contradictions_judged": ("conflict>", "contradictions judged a conflict"),
    "others_merged": ("others>", "all other pairs that ended as one row"),
    "wrong_supersessions": ("hidden>", "pairs that are no contradiction and whose old text gave way to a conflict"),
}
_ABLATION = ("lost>", "merged>", "missed>", "hidden>", "same P>", "R>", "conf P>", "R>", "ref F1>", "dist F1>", "acc>")
_LIVED = ("id", "lang", "writes>", "queries>", "repeats>", "lost>", "superseded>", "stale first>", "top 3>")
_NO_CONFIDENCE = "recall of same at precision .92: – (rules do not say how sure they are)"


def pairs(report: Mapping[str, Any]) -> Parts:
    """The report on pairs."""
    files = ", ".join(one_line(file["file"], limit=60) for file in report["files"])
    yield styled(_headline(f"{count_of(report['n'], 'pair')} of {files}", report))
    metrics = report["metrics"]
    if "counts" in report:
        yield ""
        yield _rates(_PAIRS, report)
        yield ""
        yield _judgements(report)
        swept = metrics["same_recall_at_precision_92"]
        yield styled(f"recall of same at precision .92: {share(swept)}" if swept is not None else _NO_CONFIDENCE)
        yield ""
        yield _groups("subtype", metrics["by_subtype"])
        yield ""
        # English is already one of the two sides.
        yield _groups("language", {name: row for name, row in metrics["by_lang"].items() if name != "en"})
    public = [file for file in report["files"] if "metrics" in file]
    if public:
        yield ""
        yield _public(public)
        yield styled("In %. " + "; ".join(f"{heading[:-1]}: {what}" for heading, what in _PUBLIC.values()) + ".", "dim")
    if "ablation" in report:
        yield from ablation(report["ablation"])


def stories(report: Mapping[str, Any]) -> Parts:
    """The report on stories."""
    name = one_line(report["files"][0]["file"], limit=60)
    counted = f"{count_of(report['n'], 'story')} of {name}: "
    counted += f"{count_of(report['writes'], 'write')}, {count_of(report['queries'], 'query')}"
    yield styled(_headline(counted, report))
    yield ""
    yield _rates(_STORIES, report)
    yield ""
    yield rows_of(_LIVED, (_story(row) for row in report["stories"]))


def asked(report: Mapping[str, Any]) -> Parts:
    """The report on stories with questions: a column for each number of questions per 100 writes."""
    name = one_line(report["files"][0]["file"], limit=60)
    counted = f"{count_of(report['n'], 'story')} of {name}, answers by {one_line(report['answers'], limit=20)}"
    yield styled(_headline(counted, report))
    yield ""
    columns = report["asked"]
    rows = []
    for figure, meaning in _ASKED.items():
        shown = _per_100 if figure.endswith("_per_100") else share
        rows.append((figure.replace("_", " "), *(shown(one["metrics"][figure]) for one in columns), meaning))
    yield rows_of(("questions per 100 writes", *(f"{one['ask']:g}>" for one in columns), "what"), rows)


def ablation(rows: Sequence[Mapping[str, Any]]) -> Parts:
    """One row per judging method, with figures in percent to save width."""
    if "accuracy" in rows[0]["metrics"]:
        yield ""
        yield _narrow("judged by (in %)", _ABLATION, [(row["name"], _ablated(row["metrics"])) for row in rows])
    if "swallowed_contradictions" in rows[0]["metrics"]:
        found = [(row["name"], [percent(_public_figure(row["metrics"], name)) for name in _PUBLIC]) for row in rows]
        yield ""
        yield _narrow("mean of files (in %)", [heading for heading, _ in _PUBLIC.values()], found)
    yield styled(LEGEND, "dim")


def share(value: float | None) -> str:
    """A fraction for people to read."""
    return "–" if value is None else f"{percent(value)} %"


def percent(value: float | None) -> str:
    """A fraction in percent, without the percent sign."""
    return "–" if value is None else f"{100 * value:.1f}"


def _headline(counted: str, report: Mapping[str, Any]) -> str:
    model = report["model"] or "the relation model was not asked"
    parts = (counted, f"embedder {report['embedder']}", model, f"policy {report['policy']}")
    return " · ".join((*(one_line(part, limit=200) for part in parts), f"{report['seconds']:.1f} s"))


def _rates(meanings: Mapping[str, str], report: Mapping[str, Any]) -> RenderableType:
    rows = []
    for name, meaning in meanings.items():
        hits, base = report["counts"][name]
        value, between = report["metrics"][name], report["intervals"][name]
        figure = _per_100 if name.endswith("_per_100") else share
        bounds = "–" if between is None else f"{figure(between[0])} to {figure(between[1])}"
        rows.append((name.replace("_", " "), figure(value), bounds, f"{hits} of {base}", meaning))
    return rows_of(("figure", "value>", "95 %>", "count>", "what"), rows)


def _per_100(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _judgements(report: Mapping[str, Any]) -> RenderableType:
    rows = []
    for name in (*CLASSES, "distinct_strict"):
        entry, between = report["metrics"][name], report["intervals"][name]["f1"]
        bounds = "–" if between is None else f"{share(between[0])} to {share(between[1])}"
        shown = "distinct, without unrelated" if name == "distinct_strict" else name
        rows.append((shown, *(share(entry[score]) for score in _SCORES), bounds))
    return rows_of(("judged to be", "precision>", "recall>", "F1>", "F1, 95 %>"), rows)


def _groups(heading: str, groups: Mapping[str, Mapping[str, Any]]) -> RenderableType:
    rows = [
        (
            one_line(name, limit=40) or "–",
            str(group["count"]),
            share(group["accuracy"]),
            *(share(group[harm]) for harm in HARMS),
        )
        for name, group in groups.items()
    ]
    return rows_of((heading, *_GROUP), rows)


def _public(files: Sequence[Mapping[str, Any]]) -> RenderableType:
    rows = [
        (one_line(file["file"], limit=40), str(file["n"]), *(percent(file["metrics"][name]) for name in _PUBLIC))
        for file in files
    ]
    if len(files) > 1:
        known = {name: [row for file in files if (row := file["metrics"][name]) is not None] for name in _PUBLIC}
        means = (percent(sum(found) / len(found) if found else None) for found in known.values())
        rows.append(("mean of files", "", *means))
    return rows_of(("file", "pairs>", *(heading for heading, _ in _PUBLIC.values())), rows)


def _public_figure(metrics: Mapping[str, Any], name: str) -> float | None:
    found: float | None = metrics.get(f"public_{name}", metrics.get(name))
    return found


def _narrow(first: str, headings: Sequence[str], rows: Sequence[tuple[str, Iterable[str]]]) -> RenderableType:
    """A table of many short figures; a cell that does not fit ends with an ellipsis instead of a truncated number."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=0)
    table.add_column(styled(first), no_wrap=True, overflow="ellipsis")
    for heading in headings:
        table.add_column(styled(heading.removesuffix(">")), justify="right", no_wrap=True, overflow="ellipsis")
    for name, cells in rows:
        table.add_row(styled(one_line(name, limit=40)), *map(styled, cells))
    return table


def _ablated(metrics: Mapping[str, Any]) -> Iterator[str]:
    yield from (percent(metrics[harm]) for harm in HARMS)
    for name in ("same", "conflict"):
        yield percent(metrics[name]["precision"])
        yield percent(metrics[name]["recall"])
    yield percent(metrics["refines"]["f1"])
    yield percent(metrics["distinct"]["f1"])
    yield percent(metrics["accuracy"])


def _story(row: Mapping[str, Any]) -> list[str]:
    names = ("writes", "queries", "duplicates_missed", "lost_updates", "wrong_supersessions", "stale_first")
    shown = [str(row[name]) for name in (*names, "current_in_top_3")]
    return [one_line(row["id"], limit=40), one_line(row["lang"], limit=20), *shown]
