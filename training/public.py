"""Public inference pairs whose licence allows redistribution, read from a folder the user names.

They teach what entails what; the labels are coarser than ours, so a pair may belong to several of
our relations. Sets that the product is measured on (breaking_nli, stsb, qqp, sick) are not read.
Licences and sources stand in the model card; none of the texts is kept in this repository.
"""

from __future__ import annotations

import json
from pathlib import Path

from training.compose import Labels, Pair

SETS = (
    "conjnli",
    "fever_symmetric",
    "med",
    "negnli_mnli",
    "negnli_rte",
    "negnli_snli",
    "q2_dodeca",
    "q2_memnet",
    "vitaminc_sample",
)

# The older text is the premise. An entailed text adds nothing; a neutral one adds something or is about
# something else.
_LABELS: dict[str, Labels] = {
    "entailment": ("same", "generalises"),
    "contradiction": ("conflict",),
    "neutral": ("refines", "distinct"),
}


def public_pairs(folder: Path) -> list[Pair]:
    """The pairs of all known sets in the folder, in a fixed order; sets that are missing are left out."""
    found = []
    for name in SETS:
        path = folder / f"{name}.jsonl"
        if not path.exists():
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            labels = _LABELS.get(row["label"])
            if labels and len(row["a"]) + len(row["b"]) < 500:
                found.append(Pair(row["a"], row["b"], labels, "en", f"{name}:{row['group']}"))
    return found
