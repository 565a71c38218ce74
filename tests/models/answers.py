"""Exact results of the packaged models on some texts, for comparison with another instruction set.

PYTHONPATH=src:tests qemu-x86_64 -cpu Haswell python -m models.answers 0
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import astuple
from typing import Any

from golden.relations import rows
from wellkept.core.judging.calibration import rounded
from wellkept.core.records.vectors import cosine
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.relation import PackagedRelationModel

TEXTS = (
    "Backups run every night.",
    "Nightly backups were switched off in June.",
    "The office is in Frankfurt.",
    "The office moved to Dublin.",
    "Retry failed uploads when the threshold is 0.85.",
    "Die Abnahme ist am Freitag um 16 Uhr, nicht am Donnerstag, und Herr Köhler bringt die Unterlagen mit.",
    "Релиз перенесли на понедельник.",
    "v1.5.2-rc1 of the gateway drops TLS 1.0; deploy it with `make ship` and watch the error rate for an hour.",
)


def answers(step: int) -> dict[str, Any]:
    """Vectors, cosines and opinions on the texts above, and opinions on every step-th golden pair.

    With 0 on half of the texts alone.
    """
    texts = TEXTS if step else (*TEXTS[:2], *TEXTS[5:7])
    vectors = [answer.vector for answer in MiniLmEmbedder().embed(texts)]
    assert all(vector is not None for vector in vectors)
    model, pairs = PackagedRelationModel(), list(zip(texts, texts[1:], strict=False))
    if step:
        pairs += [(row["old"], row["new"]) for row in rows()][::step]
    return {
        "vectors": [hashlib.sha256(vector.tobytes()).hexdigest() for vector in vectors],
        "cosines": [rounded(cosine(one, other)) for one, other in zip(vectors, vectors[1:], strict=False)],
        "opinions": [told and astuple(told) for told in model.read(pairs)],
        "lists": [told and astuple(told) for told in model.read_lists([(texts[0], texts[1:])])[0]],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(answers(int(sys.argv[1]))))
