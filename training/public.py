"""Public inference pairs with a licence that allows redistribution, read from a given folder.

They teach entailment. Their labels are coarser than the relations, so a pair may have several possible relations. Test
sets of the product (breaking_nli, stsb, qqp, sick) are not read. The model card lists licences and sources; none of the
texts is in this repository.
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
    """The pairs of all known sets in the folder, in a fixed order; missing sets are skipped."""
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
