"""How well a reader tells relations apart and what acts follow, beside the list reader that ships, and their mean.

    python -m training.reader.measure --base build/smollm --run build/reader --cache build/reader/known

Printed for each are the AUC of *same* and *conflict* over all candidates, and the share of repetitions that are folded
and of updates that are marked while .5, 1 and 2 % of all writes have a wrong act. The threshold is read off the same
stories. Acts follow from the opinion alone, or from heads over the list that are fitted on the same lists of other
authors for all three.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from training.heads import ACTS, Case, Chosen, Listed, Opinions, cases_of, chosen_in, embedded_lines, fitted, listed
from training.lists.measure import NOBODY, area
from training.reader.mean import MeanOpinions
from training.reader.model import from_weights
from training.reader.reading import ReaderOpinions
from training.reader.rows import Rows
from training.reader.runs import AVERAGED, weights_of
from training.reader.source import Base
from training.stories import CALIBRATING, Story, stories
from wellkept.core.judging.list_head import ODDS_OF_THE_ACT
from wellkept.models.relation import PackagedRelationModel

WRONG = (0.005, 0.01, 0.02)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, help="folder of the language model")
    parser.add_argument("--run", type=Path, required=True, help="folder of a run, or of a kept reader")
    parser.add_argument("--weights", default=AVERAGED, help="file of the weights in the folder of a run")
    parser.add_argument("--cache", type=Path, required=True, help="folder of opinions that are known; written")
    parser.add_argument("--file", default="select", help="stories to measure on; `select` to choose by")
    parser.add_argument("--languages", nargs="+", default=["en"])
    parser.add_argument("--heads", type=int, default=60, help="calibration stories that the heads are fitted on")
    parser.add_argument("--turned", action="store_true", help="read each list backwards too")
    parser.add_argument("--alone", action="store_true", help="read each candidate in a row of its own")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    found = stories_of([args.file], args.languages)
    items = listed_in(found)
    authors = {story.author for story in found}
    others = [story for story in stories_of(CALIBRATING, args.languages) if story.author not in authors]
    random.Random(1).shuffle(others)
    fit = listed_in(others[: args.heads])
    base = Base(args.base)
    model = from_weights(base.words(), weights_of(args.run, base, args.weights))
    own = ReaderOpinions(model, Rows(base.tokenizer()), turned=args.turned, alone=args.alone)
    shipped = told_by(args.cache / "shipped.json", PackagedRelationModel(), [*items, *fit])
    how = "-turned" * args.turned + "-alone" * args.alone
    name = f"{args.run.name}-{Path(args.weights).stem}{how}"
    read = told_by(args.cache / f"{name}.json", own, [*items, *fit])
    mean = told_by(args.cache / f"{name}-mean.json", MeanOpinions(shipped.all(), read.all()), [*items, *fit])
    for title, known in (("ships", shipped), ("reader", read), ("mean", mean)):
        print(f"{title}: {_areas(items, known)}", flush=True)
        for act in ACTS:
            cases = cases_of(act, items, known)
            odds = [_by_odds(case) for case in cases]
            line = f"    {act}, of {sum(case.wanted for case in cases)} in {len(cases)} writes: {done_of(cases, odds)}"
            if fit:
                head = fitted(cases_of(act, fit, known))
                line += f", by heads {done_of(cases, [chosen_in(case, *head) for case in cases])}"
            print(line, flush=True)


def stories_of(files: Sequence[str], languages: Sequence[str]) -> list[Story]:
    """The stories of these files in these languages."""
    return [story for story in stories(*files) if story.lang in languages]


def listed_in(found: Sequence[Story]) -> list[Listed]:
    """The lists of stories, each in a store of its own."""
    return listed(found, NOBODY, embedded_lines(found))


def told_by(path: Path, model: object, items: Sequence[Listed]) -> Opinions:
    """What a model says of lists; what the file knows is not read again."""
    known = Opinions(path, model)  # type: ignore[arg-type]
    known.read(items)
    return known


def _areas(items: Sequence[Listed], known: Opinions) -> str:
    rows = [
        (opinion, labels)
        for item in items
        for opinion, labels in zip(known.of(item), item.labels, strict=True)
        if opinion is not None
    ]
    repeats = np.array([float(not {"same", "generalises"}.isdisjoint(labels)) for _, labels in rows])
    against = np.array([float(labels == ("conflict",)) for _, labels in rows])
    same = area(np.array([told.same + told.generalises for told, _ in rows]), repeats)
    conflict = area(np.array([told.conflict for told, _ in rows]), against)
    return f"AUC same {same:.4f}, conflict {conflict:.4f} of {len(rows)}"


def _by_odds(case: Case) -> Chosen:
    """The candidate that the opinion alone takes for the act's."""
    alone = np.zeros(case.features.shape[1])
    alone[ODDS_OF_THE_ACT] = 1.0
    return chosen_in(case, alone, 0.0)


def done_of(cases: Sequence[Case], choices: Sequence[Chosen]) -> str:
    """The share of wanted acts done before the wrong ones are too many, by the most that may be wrong."""
    order = sorted(choices, key=lambda one: -one.probability)
    right, wrong = (np.cumsum([getattr(one, name) for one in order]) for name in ("right", "wrong"))
    wanted = max(1, sum(case.wanted for case in cases))
    done = []
    for most in WRONG:
        count = int(np.searchsorted(wrong, most * len(cases), side="right"))
        done.append(f"{right[count - 1] / wanted if count else 0:.3f}")
    return " / ".join(done)


if __name__ == "__main__":
    main()
