"""What a second reader is worth to the heads over the list, on authors that the heads have not seen.

    python -m training.reader.both --cache build/both
    python -m training.reader.both --cache build/both --base build/smollm --run build/reader

The second reader is the packaged network for other languages, or with `--run` the larger one. Each English author of
the calibration stories is measured under heads that are fitted on the others, and *select* under heads fitted on all
authors but its own: on the first reader alone; with a second opinion on every candidate; on every candidate of the
doubtful lists; and on the candidates that the product reads again (`core.judging.second_reader`), among themselves.
Printed is how much is read, and the share of repetitions that are folded and of updates that are marked while .5, 1 and
2 % of writes have a wrong act, the bounds read off the same lists.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch

from training.heads import ACTS, Case, Listed, Opinions, cases_of, chosen_in, fitted
from training.reader.measure import done_of, listed_in, stories_of, told_by
from training.reader.model import from_weights
from training.reader.reading import ReaderOpinions
from training.reader.rows import Rows
from training.reader.runs import AVERAGED, weights_of
from training.reader.source import Base
from training.stories import CALIBRATING
from wellkept.core.judging.list_head import ReadTwice
from wellkept.core.judging.second_reader import CLEARLY_DISTINCT, DOUBTFUL_CONFLICT, DOUBTFUL_REPETITION, doubtful
from wellkept.models.mapped import WEIGHTS
from wellkept.models.onnx import owner
from wellkept.models.relation import PackagedRelationModel, _multilingual
from wellkept.models.tokenizer.pairs import shares
from wellkept.types import Opinion

Told: TypeAlias = Mapping[str, Opinion | None]
"""Opinions by candidate."""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder of opinions that are known; written")
    parser.add_argument("--base", type=Path, help="folder of the language model of the larger reader")
    parser.add_argument("--run", type=Path, help="folder of a run, or of a kept reader; default: the packaged network")
    parser.add_argument("--weights", default=AVERAGED, help="file of the weights in the folder of a run")
    parser.add_argument("--most", type=int, help="most stories of an author")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    fit, on = _first(listed_in(stories_of(CALIBRATING, ["en"])), args.most), listed_in(stories_of(["select"], ["en"]))
    items = [*fit, *on]
    name = "packaged" if args.run is None else f"{args.run.name}-{Path(args.weights).stem}"
    first = told_by(args.cache / "shipped.json", PackagedRelationModel(), items)
    second = _second(args)
    whole = told_by(args.cache / f"{name}.json", second, items)
    choice = "-".join(map(str, (*DOUBTFUL_REPETITION, *DOUBTFUL_CONFLICT, CLEARLY_DISTINCT)))
    some = told_by(args.cache / f"{name}-doubtful-{choice}.json", Doubtful(first, second), items)
    for title, known, of in (
        ("first alone", whole, lambda told: []),
        ("every candidate", whole, list),
        ("candidates of doubtful lists", whole, lambda told: list(told) if doubtful(told) else []),
        ("doubtful candidates", some, doubtful),
    ):
        both = Beside(first, known, of)
        print(f"{title}: {both.read_in(items)}", flush=True)
        for act in ACTS:
            done = _measured(cases_of(act, items, both), {item.story.id for item in on})
            print(f"    {act}: {done}", flush=True)


class Packaged:
    """The network for other languages as a reader of English lists."""

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        """Opinions on the older texts of each list."""
        network = _multilingual(WEIGHTS, owner())
        found = []
        for new, texts in lists:
            told = network.listed(new, sorted(set(texts)))
            opinions = {text: shares(network.calibrated(logits)) for text, logits in told.items()}
            found.append(
                [Opinion(*np.round(opinions[text], 4).tolist()) if text in opinions else None for text in texts]
            )
        return found


class Doubtful:
    """A reader that reads the doubtful candidates of a list among themselves, and no others.

    Args:
        first: What the first reader says.
        second: The reader.
    """

    def __init__(self, first: Opinions, second: Packaged | ReaderOpinions) -> None:
        self._first, self._second = first.all(), second

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        """Opinions on the doubtful texts of each list."""
        wanted = [doubtful(dict(zip(texts, self._first[new, tuple(texts)], strict=True))) for new, texts in lists]
        asked = [(new, sorted(texts)) for (new, _), texts in zip(lists, wanted, strict=True) if texts]
        told = iter(self._second.read_lists(asked))
        found = []
        for (_, texts), again in zip(lists, wanted, strict=True):
            known = dict(zip(sorted(again), next(told), strict=True)) if again else {}
            found.append([known.get(text) for text in texts])
        return found


class Beside:
    """The first reader's opinions with the second one's beside some of them.

    Args:
        first: What the first reader says.
        second: What the second one says.
        read: Which candidates of a list the second one reads, from what the first says of them.
    """

    def __init__(self, first: Opinions, second: Opinions, read: Callable[[Told], Iterable[str]]) -> None:
        self._first, self._second, self._read = first, second, read

    def of(self, item: Listed) -> list[Opinion | None]:
        """The opinions on the texts of a line, in order."""
        return [opinion for opinion, _ in self._both(item)]

    def read_in(self, items: Sequence[Listed]) -> str:
        """How many lists, and candidates of each, the second one reads."""
        read = [sum(again for _, again in self._both(item)) for item in items]
        return f"reads {np.mean([count > 0 for count in read]):.2f} of the lists, {np.mean(read):.2f} candidates a list"

    def _both(self, item: Listed) -> Iterator[tuple[Opinion | None, bool]]:
        texts = [text for text, _ in item.texts]
        first = self._first.of(item)
        wanted = set(self._read(dict(zip(texts, first, strict=True))))
        for text, one, other in zip(texts, first, self._second.of(item), strict=True):
            again = one is not None and other is not None and text in wanted
            yield (_with_third(one, other) if one and other and again else one), again


def _with_third(one: Opinion, third: Opinion) -> Opinion:
    if isinstance(one, ReadTwice):
        return replace(one, third=third)
    return ReadTwice(**asdict(one), first=one, second=one, third=third)


def _second(args: argparse.Namespace) -> Packaged | ReaderOpinions:
    if args.run is None:
        return Packaged()
    base = Base(args.base)
    return ReaderOpinions(from_weights(base.words(), weights_of(args.run, base, args.weights)), Rows(base.tokenizer()))


def _first(items: Sequence[Listed], most: int | None) -> list[Listed]:
    """The lists of the first stories of each author."""
    kept: dict[str, dict[str, None]] = {}
    for item in items:
        of_author = kept.setdefault(item.story.author, {})
        if most is None or len(of_author) < most:
            of_author[item.story.id] = None
    return [item for item in items if item.story.id in kept[item.story.author]]


def _measured(cases: Sequence[Case], select: set[str]) -> str:
    """What is done for the calibration authors together, for each of them, and on *select*."""
    fit, on = ([case for case in cases if (case.story in select) is there] for there in (False, True))
    by_author = {}
    for author in sorted({case.author for case in fit}):
        head = fitted([case for case in fit if case.author != author])
        own = [case for case in fit if case.author == author]
        by_author[author] = own, [chosen_in(case, *head) for case in own]
    head = fitted([case for case in fit if case.author not in {case.author for case in on}])
    apart = ", ".join(f"{author} {done_of(*told)}" for author, told in by_author.items())
    pooled = done_of(*(sum((told[part] for told in by_author.values()), []) for part in (0, 1)))
    return f"left out {pooled} ({apart}); select {done_of(on, [chosen_in(case, *head) for case in on])}"


if __name__ == "__main__":
    main()
