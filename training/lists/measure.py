"""The list reader beside the pair model, over the same candidates.

    python -m training.lists.measure --run build/lists --vocabulary vocab.txt --pairs build/opinions.json

Prints how well each tells *same* and *conflict* apart from the rest, what the heads over the list do at 1 % wrong acts
when they are fitted on its opinions and the author is left out, and what a write costs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from training.heads import (
    ACTS,
    LARGE,
    MOST_WRONG,
    SMALL,
    Case,
    Crowd,
    Known,
    Listed,
    Numbers,
    Opinions,
    cases_of,
    crowd_of,
    embedded_lines,
    least_of,
    left_out,
    lines,
    listed,
    of_cases,
    pairs_of,
)
from training.lists.export import with_onnx
from training.lists.model import ListModel, from_pairs
from training.lists.reading import Asked, Reading, fitted_scale, opinion_of, read_again, with_torch
from training.lists.rows import ListReader, ListRow
from training.lists.train import reader_of
from training.model import RelationModel, tensors
from training.stories import stories
from wellkept.core.judging.list_head import Read, best_for
from wellkept.models.relation import PackagedRelationModel
from wellkept.models.tokenizer.pairs import CLEARLY_DISTINCT, LABELS, PairReader, Row

WRONG = 0.01
"""Share of wrong acts among all writes at which the acts are compared."""
AGAIN_AT = 0.2
"""Probability of an act from which its candidate is read again, alone and in both orders."""
NOBODY = Crowd((), np.zeros((0, 384), dtype=np.float32))
TIMED = 100
"""Writes whose reading is timed."""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--weights", default="averaged.pt", help="file of the weights in that folder")
    parser.add_argument("--file", type=Path, help="the exported file to read with, instead of the weights")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.txt of all-MiniLM-L6-v2")
    parser.add_argument("--pairs", type=Path, required=True, help="opinions of the pair model; written")
    parser.add_argument("--pair-run", type=Path, help="folder of the pair model's run, to time it")
    parser.add_argument("--near", type=Path, help="strangers of the fit, one text a line; default: training cases")
    parser.add_argument("--strange", type=Path, help="strangers of the measure, one text a line")
    parser.add_argument("--only-select", action="store_true", help="only how well relations are told apart on `select`")
    args = parser.parse_args()
    torch.set_num_threads(1)
    reader, model = reader_of(args.run, args.vocabulary), from_pairs(torch.load(args.run / args.weights))
    reading = with_onnx(args.file) if args.file else with_torch(model, fast=True)
    pairs = Opinions(args.pairs, PackagedRelationModel())
    select = stores_of("select", {"alone": NOBODY})["alone"]
    scale, bias = _scale_of(reader, reading, select)
    print(f"scale {scale.round(3)} bias {bias.round(3)}")

    def told_by_lists(items: Sequence[Listed]) -> Known:
        asked = Asked(reader, items)
        return dict.fromkeys(pair for item in items for pair in pairs_of(item)) | {
            (items[at].texts[place][0], items[at].line.text): opinion_of(logits, scale, bias)
            for at, place, logits in asked.answers(reading(asked.rows))
        }

    def told_by_pairs(items: Sequence[Listed]) -> Known:
        pairs.read(pair for item in items for pair in pairs_of(item))
        return pairs.known

    _apart("select, alone", select, {"pairs": told_by_pairs(select), "lists": told_by_lists(select)})
    if args.only_select:
        return
    near = crowd_of((lines(args.near) if args.near else of_cases())[:LARGE])
    strange = crowd_of(lines(args.strange)[: 2 * SMALL]) if args.strange else near
    few = Crowd(strange.texts[:SMALL], strange.vectors[:SMALL])
    stores = stores_of("calibrate", {"alone": NOBODY, "fit": near, "1k": few})
    known = {name: {"pairs": told_by_pairs(items), "lists": told_by_lists(items)} for name, items in stores.items()}
    for name, items in stores.items():
        _apart(f"calibrate, {name}", items, known[name])
    for act in ACTS:
        for source in ("pairs", "lists"):
            _acts(
                f"{source} {act}", {name: cases_of(act, items, known[name][source]) for name, items in stores.items()}
            )
    again = {name: _again(items, known[name]["lists"], reader, reading) for name, items in stores.items()}
    for act in ACTS:
        cases = {name: cases_of(act, items, known[name]["lists"], again[name]) for name, items in stores.items()}
        _acts(f"lists, the best again, {act}", cases)
    for name in ("alone", "1k"):
        _costs(name, _some(stores[name]), reader, model, pairs.known, args)


def _some(items: Sequence[Listed]) -> Sequence[Listed]:
    return items[:: max(1, len(items) // TIMED)][:TIMED]


def stores_of(file: str, crowds: Mapping[str, Crowd]) -> dict[str, list[Listed]]:
    """The lines of a file's stories with their candidates, alone or beside each crowd."""
    found = stories(file)
    embedded = embedded_lines(found)
    return {name: listed(found, crowd, embedded) for name, crowd in crowds.items()}


def _scale_of(reader: ListReader, reading: Reading, items: Sequence[Listed]) -> tuple[Numbers, Numbers]:
    asked = Asked(reader, items)
    answers = list(asked.answers(reading(asked.rows)))
    return fitted_scale(np.array([row for _, _, row in answers]), [items[at].labels[place] for at, place, _ in answers])


# --------------------------------------------------------------------------------------------
# Pairs of a new text and a candidate


def area(scores: Numbers, wanted: Numbers) -> float:
    """Area under the curve: the chance that a wanted one has the higher score; ties count half."""
    kinds, of = np.unique(scores, return_inverse=True)
    good = np.bincount(of, weights=wanted, minlength=len(kinds))
    bad = np.bincount(of, weights=1.0 - wanted, minlength=len(kinds))
    below = np.cumsum(bad) - bad
    return float((good * (below + bad / 2)).sum() / max(1.0, good.sum() * bad.sum()))


def _apart(name: str, items: Sequence[Listed], told: Mapping[str, Known]) -> None:
    """Print how well *same* and *conflict* are told apart from the other relations."""
    for source, known in told.items():
        rows = [
            (known[text, item.line.text], labels)
            for item in items
            for (text, _), labels in zip(item.texts, item.labels, strict=True)
        ]
        kept = [(opinion, labels) for opinion, labels in rows if opinion is not None]
        repeats = np.array([float(not {"same", "generalises"}.isdisjoint(labels)) for _, labels in kept])
        against = np.array([float(labels == ("conflict",)) for _, labels in kept])
        same = area(np.array([opinion.repeats for opinion, _ in kept]), repeats)
        conflict = area(np.array([opinion.conflict for opinion, _ in kept]), against)
        right = np.mean([max(LABELS, key=opinion.of) in labels for opinion, labels in kept])
        print(f"{name}: {source}: AUC same {same:.4f}, conflict {conflict:.4f}, right {right:.3f} of {len(kept)}")


# --------------------------------------------------------------------------------------------
# Acts


def _again(items: Sequence[Listed], known: Known, reader: ListReader, reading: Reading) -> Known:
    """The opinions, and instead of those on the best candidate of a likely act the opinion on it alone."""
    likely: dict[tuple[str, str], None] = {}
    for item in items:
        rows = [
            Read(text, cosine, opinion)
            for text, cosine in item.texts
            if (opinion := known[text, item.line.text]) is not None
        ]
        for act in ACTS if rows else ():
            best = rows[best_for(act, rows, range(len(rows)))]
            if (best.opinion.repeats if act == "fold" else best.opinion.conflict) >= AGAIN_AT:
                likely[best.text, item.line.text] = None
    print(f"read again: {len(likely)} candidates of {len(items)} writes")
    return {**known, **dict(zip(likely, read_again(reader, reading, list(likely)), strict=True))}


@dataclass(frozen=True)
class _Group:
    name: str
    members: list[int]


def _acts(name: str, cases: Mapping[str, Sequence[Case]]) -> None:
    """Print what an act does under a head that has not seen the author: at 1 % wrong, and from the bounded least."""
    scores = left_out(cases)
    measured = [store for store in cases if store != "fit"]
    least = {
        english: max(
            least_of(cases[store], scores[store], MOST_WRONG["balanced"], english=english) for store in measured
        )
        for english in (True, False)
    }
    for store in measured:
        some, chances = cases[store], scores[store]
        every = list(range(len(some)))
        groups = [
            _Group("all", every),
            _Group("English", [at for at in every if some[at].english]),
            _Group("other", [at for at in every if not some[at].english]),
            *(_Group(author, [at for at in every if some[at].author == author]) for author in _authors(some)),
        ]
        for group in groups:
            members = [some[at] for at in group.members]
            those = chances[group.members]
            done = done_at(members, those, WRONG)
            acted = those >= np.array([least[case.english] for case in members])
            right, wrong = _shares(members, acted)
            print(
                f"{name}, {store}, {group.name}: {done:.3f} at {WRONG:.0%} wrong; "
                f"bounded {right:.3f} at {wrong:.4f} of {len(members)}"
            )


def _authors(cases: Sequence[Case]) -> list[str]:
    return sorted({case.author for case in cases})


def done_at(cases: Sequence[Case], scores: Numbers, most: float) -> float:
    """The share of wanted acts done from the lowest score at which at most this share of writes is acted on wrongly."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum([cases[at].right for at in order])
    wrong = np.cumsum([cases[at].counts and not cases[at].right for at in order])
    # Equal scores are acted on together.
    last = np.append(np.diff(scores[order]) != 0, True)
    able = last & (wrong <= most * len(cases))
    wanted = sum(case.wanted for case in cases)
    return float(right[able].max(initial=0) / max(1, wanted))


def _shares(cases: Sequence[Case], acted: Numbers) -> tuple[float, float]:
    done = sum(case.right and bool(act) for case, act in zip(cases, acted, strict=True))
    wrong = sum(case.counts and not case.right and bool(act) for case, act in zip(cases, acted, strict=True))
    return done / max(1, sum(case.wanted for case in cases)), wrong / max(1, len(cases))


# --------------------------------------------------------------------------------------------
# Cost


def _costs(
    name: str,
    chosen: Sequence[Listed],
    reader: ListReader,
    model: ListModel,
    known: Known,
    args: argparse.Namespace,
) -> None:
    """Print what these writes cost in PyTorch on one thread, and with the files that the product reads."""
    rows = Asked(reader, chosen).rows
    both = [row for item in chosen for row in _pair_rows(item, PairReader(reader.tokenizer), known)]
    pieces = [sum(len(row.pieces) for row in some) for some in (rows, both)]
    if args.pair_run:
        one = RelationModel(len(model.words.weight)).eval()
        one.load_state_dict(torch.load(args.pair_run / "averaged.pt"))
        reads = (partial(_one_by_one, with_torch(model, fast=False), rows), partial(_read_pairs, both, one))
        _cost(f"{name}, single precision", chosen, pieces, reads)
    if args.file:
        packaged = PackagedRelationModel()
        packaged.read([("Warm up.", "Warming up.")])
        reads = (partial(_one_by_one, with_onnx(args.file), rows), partial(_as_shipped, chosen, packaged))
        _cost(f"{name}, integers", chosen, pieces, reads)


def _cost(name: str, chosen: Sequence[Listed], pieces: Sequence[int], reads: Sequence[Callable[[], object]]) -> None:
    """Print the pieces and the processor time of a write, for the list reader and for the pair model."""
    told = []
    for source, count, read in zip(("lists", "pairs"), pieces, reads, strict=True):
        began = time.process_time()
        read()
        spent = (time.process_time() - began) / len(chosen)
        told.append(f"{source} {count / len(chosen):.0f} pieces, {spent * 1e3:.1f} ms")
    print(f"cost of a write, {name}: {'; '.join(told)}")


def _one_by_one(reading: Reading, rows: Sequence[ListRow]) -> None:
    for row in rows:
        reading([row])


def _as_shipped(chosen: Sequence[Listed], model: PackagedRelationModel) -> None:
    for item in chosen:
        model.read(pairs_of(item))


def _read_pairs(rows: Sequence[Row], model: RelationModel) -> None:
    with torch.no_grad():
        for row in rows:
            model(*tensors([row]))


def _pair_rows(item: Listed, reader: PairReader, known: Known) -> list[Row]:
    """The rows that the pair model reads: one of a pair that is clearly distinct, else both orders."""
    rows = []
    for text, _ in item.texts:
        opinion = known[text, item.line.text]
        if opinion is not None:
            old, new = reader.read(text), reader.read(item.line.text)
            rows.append(reader.row(old, new))
            if opinion.distinct < CLEARLY_DISTINCT:
                rows.append(reader.row(new, old))
    return rows


if __name__ == "__main__":
    main()
