"""What the heads over the list still miss, and what they do wrong, for a reading of the kinds of mistake.

    python -m training.reader.missed --cache build/opinions-both.json --out build/missed.jsonl

Each English author of the calibration stories is judged under heads that are fitted on the others, in stores of the
story alone, at the bounds that ship. Printed is, by act, how many of the wanted ones are done, and why the others are
not. Each line that is not done, or done wrongly, is written with its candidates.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from training.heads import ACTS, Case, Chosen, Listed, Opinions, cases_of, left_out
from training.reader.measure import listed_in, stories_of, told_by
from training.stories import CALIBRATING
from wellkept.core.judging.list_head import Act
from wellkept.models.relation import PackagedRelationModel

LIKELY = 0.5
"""Probability from which a line that is not acted on counts as nearly done."""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="opinions that are known; written")
    parser.add_argument("--out", type=Path, required=True, help="file of the mistakes, JSON lines; written")
    args = parser.parse_args()
    model = PackagedRelationModel(second_reader=True)
    items = listed_in(stories_of(CALIBRATING, ["en"]))
    known = told_by(args.cache, model, items)
    bounds = model.bounds("balanced")
    rows: list[dict[str, object]] = []
    for act in ACTS:
        head = getattr(bounds, act)
        mistakes, outcomes = missed(act, items, known, head.english)
        rows += mistakes
        print(f"{act} from {head.english:.2f}, {len(items)} writes: {dict(outcomes.most_common())}")
    args.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def missed(
    act: Act, items: list[Listed], known: Opinions, least: float
) -> tuple[list[dict[str, object]], Counter[str]]:
    """The lines that an act misses or that it is wrong for, and how often each outcome occurs."""
    told = [(item, case) for item in items for case in cases_of(act, [item], known)]
    chosen = left_out({"alone": [case for _, case in told], "fit": []})["alone"]
    outcomes = [outcome(case, one, least) for (_, case), one in zip(told, chosen, strict=True)]
    rows = [
        {
            "act": act,
            "outcome": how,
            "probability": round(one.probability, 3),
            "author": case.author,
            "new": item.line.text,
            "old": [text for (text, _), labels in zip(item.texts, item.labels, strict=True) if labels != ("distinct",)],
            "others": [text for (text, _), labels in zip(item.texts, item.labels, strict=True) if "distinct" in labels],
        }
        for (item, case), one, how in zip(told, chosen, outcomes, strict=True)
        if how not in ("", "done")
    ]
    return rows, Counter(outcomes)


def outcome(case: Case, one: Chosen, least: float) -> str:
    """What becomes of a line; empty where nothing is wanted and nothing is done."""
    acts = one.probability >= least
    if one.wrong and acts:
        return "wrong"
    if not case.wanted:
        return ""
    if one.right and acts:
        return "done"
    if not case.right.any():
        return "not among the candidates"
    if not one.right:
        return "another candidate is more probable"
    return "nearly" if one.probability >= LIKELY else "not likely"


if __name__ == "__main__":
    main()
