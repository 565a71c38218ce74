"""Precision and count of the rules per kind of decisive difference.

Reads pairs as JSON lines with `a`, `b` and `label`, and cases in the format of `training/cases` (`same`, `refines`,
`general`, `conflict`, `distinct`). A decisive difference means that two texts cannot both hold. It is correct on pairs
labelled contradiction, and between texts of a case and its contradictions. Sets without contradictions distinguish only
entailment from neutral; there it is wrong on an entailed pair. Vetoes (differences that only forbid *same*) are counted
on true paraphrases.

    python -m benchmarks.rules --cases training/cases DIR/breaking_nli.jsonl DIR/sick.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path

from wellkept.core.differences.find import differences
from wellkept.types import Difference

HARD = frozenset(("number", "sign", "version", "identifier", "date", "time", "name", "subject"))
"""Kinds that forbid *same* whatever the model's opinion; on a true paraphrase each is an error of the rules."""

Pair = tuple[str, str, str]
"""Old text, new text, label."""


@dataclass
class Tally:
    """Results of the rules on one set.

    Attributes:
        pairs: Number of pairs; `contradictions`: number of contradictions among them.
        right / wrong: Correct and wrong decisive differences by kind.
        spoke: Numbers of wrong and of correct pairs with a decisive difference.
        same: Number of paraphrases; `barred`: those with a hard difference, by kind.
    """

    pairs: int = 0
    contradictions: int = 0
    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    spoke: list[int] = field(default_factory=lambda: [0, 0])
    same: int = 0
    barred: Counter[str] = field(default_factory=Counter)
    shown: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def precision(self) -> float | None:
        """Share of correct ones among pairs with a decisive difference; None if there are none."""
        return self.spoke[1] / sum(self.spoke) if sum(self.spoke) else None

    @property
    def recall(self) -> float | None:
        """Share of the contradictions that the rules find."""
        return self.spoke[1] / self.contradictions if self.contradictions else None


def read_pairs(path: Path) -> list[Pair]:
    """The labelled pairs of a file."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return [(row["a"], row["b"], row["label"]) for row in rows]


def read_cases(path: Path) -> list[Pair]:
    """All pairs whose relation the cases of a file state directly."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return [pair for row in rows for pair in _of_case(row)]


def _of_case(row: dict[str, list[str]]) -> Iterator[Pair]:
    for old, new in combinations(row["same"], 2):
        yield old, new, "same"
    for kind in ("refines", "general", "distinct", "conflict"):
        for old, new in product(row["same"], row.get(kind, ())):
            yield old, new, "contradiction" if kind == "conflict" else kind


def tally(pairs: Iterable[Pair]) -> Tally:
    """Apply the rules to every pair."""
    listed = list(pairs)
    found = Tally(pairs=len(listed), contradictions=sum(label == "contradiction" for *_, label in listed))
    for old, new, label in listed:
        _count(found, differences(old, new), (old, new, label))
    return found


def _count(found: Tally, told: tuple[Difference, ...], pair: Pair) -> None:
    old, new, label = pair
    right = label == "contradiction" if found.contradictions else label != "entailment"
    decisive = {item.kind for item in told if item.decisive}
    if decisive:
        found.spoke[right] += 1
        (found.right if right else found.wrong).update(decisive)
    if not right:
        for item in told:
            if item.decisive:
                found.shown[item.kind].append(f"{label}: [{item.old} | {item.new}]\n      {old}\n      {new}")
    if label in ("same", "duplicate"):
        found.same += 1
        hard = {item.kind for item in told if item.kind in HARD}
        found.barred.update(hard)
        for item in told:
            if item.kind in HARD:
                found.shown["veto " + item.kind].append(f"[{item.old} | {item.new}]\n      {old}\n      {new}")


def report(name: str, found: Tally) -> str:
    """The figures of one set."""
    head = f"{name}: {found.pairs} pairs, {found.contradictions} contradictions; decisive in {sum(found.spoke)}"
    head += f", precision {_figure(found.precision)}, recall {_figure(found.recall)}\n"
    for kind in sorted({*found.right, *found.wrong}):
        right, wrong = found.right[kind], found.wrong[kind]
        head += f"    {kind:<11} {right:5} of {right + wrong:5}  {right / (right + wrong):.3f}\n"
    if found.same:
        barred = ", ".join(f"{kind} {count}" for kind, count in sorted(found.barred.items()))
        head += f"    hard differences on {found.same} repeats: {barred or 'none'}\n"
    return head


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def main(arguments: list[str] | None = None) -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(description="Precision of the decisive differences, per kind and set.")
    parser.add_argument("pairs", nargs="*", type=Path, help="JSON lines with a, b and label")
    parser.add_argument("--cases", type=Path, help="folder with cases as in training/cases")
    parser.add_argument("--only", default="", help="names of the case files to read, with commas between")
    parser.add_argument("--errors", type=int, default=0, help="how many errors of each kind to show")
    parser.add_argument("--kind", default="", help="show errors of this kind only")
    chosen = parser.parse_args(arguments)
    sets = [(path.stem, read_pairs(path)) for path in chosen.pairs]
    if chosen.cases:
        wanted = set(filter(None, chosen.only.split(",")))
        files = [path for path in sorted(chosen.cases.glob("*.jsonl")) if not wanted or path.stem in wanted]
        sets += [("cases: " + ", ".join(path.stem for path in files), [p for f in files for p in read_cases(f)])]
    precisions = []
    for name, pairs in sets:
        found = tally(pairs)
        sys.stdout.write(report(name, found))
        for kind, examples in sorted(found.shown.items()):
            if chosen.kind in ("", kind):
                sys.stdout.write("".join(f"  {kind} {text}\n" for text in examples[: chosen.errors]))
        precisions += [found.precision] if found.precision is not None else []
    if precisions:
        sys.stdout.write(f"macro precision over {len(precisions)} sets: {sum(precisions) / len(precisions):.3f}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
