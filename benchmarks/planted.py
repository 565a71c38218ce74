"""Recall and precision of a consolidation on duplicates and contradictions planted among real observations.

    python -m benchmarks.planted OBSERVATIONS.jsonl PAIRS.jsonl

OBSERVATIONS has one memory per line (`text`, `conv`), PAIRS labelled pairs (`old`, `new`, `relation`, `subtype`).
3 % of the lines are planted duplicates: a third in other case, a third with other punctuation and spacing, a third both
texts of a paraphrase pair. 1 % are planted contradictions, both texts of a *conflict* pair. In addition, all PAIRS form
one separate store. Each conversation is a namespace; planted pairs are placed at random. Prints one JSON object per
line; merges are printed completely for review by eye.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import wellkept
from wellkept.engine.verbs.store import MemoryStore
from wellkept.types import Plan

SEED = 20261122
REPEATS, CONTRADICTIONS = 0.03, 0.01
SHOWN = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("observations", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--kind", default="note")
    args = parser.parse_args()
    rows, pairs = _json(args.observations), _json(args.pairs)
    _planted(rows, pairs, args.kind)
    _of_pairs(pairs, args.kind)


def _json(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _planted(rows: list[dict[str, Any]], pairs: list[dict[str, Any]], kind: str) -> None:
    chance = random.Random(SEED)
    lines = [(row.get("conv", ""), row["text"]) for row in rows]
    names = sorted({conv for conv, _ in lines})
    planted: list[tuple[str, str, str, str]] = []  # type, namespace, older, newer
    repeats, against = round(len(lines) * REPEATS), round(len(lines) * CONTRADICTIONS)
    for conv, text in chance.sample(lines, repeats * 2 // 3):
        how = "case" if len(planted) % 2 else "punctuation"
        planted.append(
            (how, conv, text, text.upper() if how == "case" else "  " + text.rstrip(".").replace(" ", "  ") + " !")
        )
    for relation, count in (("same", repeats - len(planted)), ("conflict", against)):
        wanted = [pair for pair in pairs if pair["relation"] == relation and pair.get("subtype") != "verbatim"]
        for pair in chance.sample(wanted, min(count, len(wanted))):
            planted.append((relation, chance.choice(names), pair["old"], pair["new"]))
    both = {"same", "conflict"}
    writes = lines + [(conv, old) for what, conv, old, _ in planted if what in both]
    chance.shuffle(writes)
    with wellkept.open("memory:") as root:
        stores = {name: root.in_namespace(name) for name in names}
        _store(stores, writes, kind)
        _store(stores, [(conv, new) for _, conv, _, new in planted], kind)
        found: Counter[str] = Counter()
        merges: list[list[str]] = []
        others = flags = 0
        for name, store in stores.items():
            texts = {row.id: row.content for row in store.list()}
            plan = store.plan()
            merged, flagged = _pairs_of(plan, texts)
            here = [(what, old, new) for what, conv, old, new in planted if conv == name]
            for what, old, new in here:
                hit = frozenset((old, new)) in (flagged if what == "conflict" else merged)
                found[f"{what}: found" if hit else f"{what}: missed"] += 1
            known = {frozenset((old, new)) for _, old, new in here}
            merges += [sorted(pair) for pair in merged - known]
            others += len(merged - known)
            flags += len(flagged - known)
    print(json.dumps({"rows": len(writes) + len(planted), **dict(sorted(found.items())), "other_merged_pairs": others,
                      "other_flagged_pairs": flags}))  # fmt: skip
    for pair in merges[:SHOWN]:
        print(json.dumps({"merged": pair}, ensure_ascii=False))


def _store(stores: dict[str, MemoryStore], writes: Iterable[tuple[str, str]], kind: str) -> None:
    by_name: dict[str, list[dict[str, str]]] = {}
    for conv, text in writes:
        by_name.setdefault(conv, []).append({"content": text, "kind": kind})
    for name, items in by_name.items():
        stores[name].remember_many(items, on_conflict="ignore")


def _pairs_of(plan: Plan, texts: dict[str, str]) -> tuple[set[frozenset[str]], set[frozenset[str]]]:
    merged: set[frozenset[str]] = set()
    flagged: set[frozenset[str]] = set()
    for action in plan.actions:
        said = [texts[one] for one in action.targets]
        if action.type == "merge":
            merged |= {frozenset((a, b)) for at, a in enumerate(said) for b in said[at + 1 :]}
        elif action.type == "flag_contradiction":
            flagged.add(frozenset(said))
    return merged, flagged


def _of_pairs(pairs: list[dict[str, Any]], kind: str) -> None:
    """Store all pairs in one store and count those that a merge joins, by label."""
    with wellkept.open("memory:") as store:
        store.remember_many([{"content": pair["old"], "kind": kind} for pair in pairs], on_conflict="ignore")
        store.remember_many([{"content": pair["new"], "kind": kind} for pair in pairs], on_conflict="ignore")
        texts = {row.id: row.content for row in store.list()}
        merged, flagged = _pairs_of(store.plan(), texts)
    known = {frozenset((pair["old"], pair["new"])): pair["relation"] for pair in pairs}
    counts = Counter(pair["relation"] for pair in pairs)
    joined = Counter(known.get(pair, "across pairs") for pair in merged)
    told = Counter(known.get(pair, "across pairs") for pair in flagged)
    print(json.dumps({"pairs": dict(counts), "merged": dict(joined), "flagged": dict(told)}))
    for pair in merged:
        if known.get(pair) != "same":
            print(json.dumps({"merged": sorted(pair), "label": known.get(pair, "across pairs")}, ensure_ascii=False))


if __name__ == "__main__":
    main()
