"""Letters that tell English from other languages: linear weights, fitted on the lines of the stories and cases.

    python -m training.language

They decide which network reads a text, and by which bounds the gate acts (`core/reading/language_detection.py`). In the
fit English weighs as much as the rest. A line counts as what its story is written in, so English lines in stories of
other languages are wrong in the fit and in the figures. The strength of the penalty is chosen on `select`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from training.changes import shipped, values_of
from training.material import HERE, Case, cases
from training.stories import CALIBRATING, TRAINING, stories
from wellkept.core.reading import language_detection
from wellkept.core.reading.language_detection import is_english
from wellkept.core.text.letter_groups import letters_of

TABLE = HERE.parent / "src" / "wellkept" / "core" / "lexicon" / "english.toml"
STRENGTHS = (1.0, 3.0, 10.0, 30.0)
"""Inverse penalties that are tried."""


@dataclass(frozen=True)
class Lines:
    """Texts with the code of their language."""

    texts: Sequence[str]
    langs: NDArray[np.str_]

    @property
    def english(self) -> NDArray[np.bool_]:
        """Which of them are English."""
        return self.langs == "en"

    def rows(self) -> sparse.csr_matrix:
        """Their letters, one row a text."""
        return values_of([letters_of(text) for text in self.texts])


def main() -> None:
    """Fit the weights, write them into the package, and print how often they are right before and after."""
    unseen = lines_of(CALIBRATING)
    before = right(unseen)
    train, select = lines_of(TRAINING, cases("train")), lines_of(("select",), cases("select"))
    rows, known = train.rows(), select.rows()
    tried = {
        strength: LogisticRegression(C=strength, class_weight="balanced", solver="liblinear").fit(rows, train.english)
        for strength in STRENGTHS
    }
    losses = {strength: log_loss(select.english, model.predict_proba(known)[:, 1]) for strength, model in tried.items()}
    print("log loss on select", {strength: round(loss, 4) for strength, loss in losses.items()})
    model = tried[min(losses, key=lambda strength: losses[strength])]
    table = {**shipped(model.coef_[0]), "bias": round(float(model.intercept_[0]), 4)}
    lines = [f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}" for name, value in table.items()]
    TABLE.write_text("\n".join(("# Written by training/language.py.", *lines, "")), encoding="utf-8")
    for function in (language_detection._of_english, language_detection._is_english):
        function.cache_clear()  # type: ignore[attr-defined]
    print_table(unseen, before, right(unseen))


def lines_of(files: Sequence[str], facts: Sequence[Case] = ()) -> Lines:
    """The lines of the stories of these files and the texts of cases, each once; nothing of several languages."""
    told = [(line.text, story.lang) for story in stories(*files) for line in story.lines]
    told += [(text, case.lang) for case in facts for texts in case.parts.values() for text in texts]
    texts, langs = zip(*((text, lang) for text, lang in dict.fromkeys(told) if len(lang) == 2), strict=True)
    return Lines(texts, np.array(langs))


def right(lines: Lines) -> NDArray[np.bool_]:
    """Which lines the product takes rightly for English or not."""
    return np.array([is_english(text) for text in lines.texts]) == lines.english


def print_table(lines: Lines, before: NDArray[np.bool_], after: NDArray[np.bool_]) -> None:
    """Print the share of right lines by language, as rows of a Markdown table."""
    groups = {"English": lines.english, "others": ~lines.english}
    groups |= {lang: lines.langs == lang for lang in sorted(set(lines.langs) - {"en"})}
    for name, some in groups.items():
        print(f"| {name} | {some.sum():,} | {100 * before[some].mean():.1f} | {100 * after[some].mean():.1f} |")


if __name__ == "__main__":
    main()
