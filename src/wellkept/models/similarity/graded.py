"""Graded pairs: the definition of the similarity scale, and the calibration of embedders.

The packaged set is hand-written for this purpose: repeats, refinements, changed values, negations and unrelated
statements in English, ten other languages and across languages. It has about as many changed or contradicting
statements as repeats, as in real memories.

Meaning of each grade, with an example:

| grade | meaning | example |
|---|---|---|
| .97–1 | says exactly the same in nearly the same words | "Do not deploy on Fridays." · "Don't deploy on Fridays." |
| .95–.96 | a repeat that adds nothing; presets `insight` and `general`: *duplicate* from here | "The cache is invalidated after each deployment." · "Every deploy clears the cache." |
| .90–.94 | nearly a repeat, a nuance differs; preset `insight`: *link* from here | "Peter handles payroll." · "Peter is the person to ask about payroll." |
| .85–.89 | the same sentence with one value changed or a small addition; preset `knowledge` skips above .88 | "The limit is 20 MB." · "The limit is 25 MB." |
| .80–.84 | mostly the same, details differ | "Prices exclude VAT." · "Prices exclude VAT and shipping." |
| .65–.79 | the same topic and subject, with something added, changed or denied; preset `knowledge`: *evolve* from here | "The hotel serves breakfast." · "The hotel has no breakfast any more, but a bar." |
| .45–.64 | related: the same thing, another statement about it | "The kitchen tap is dripping." · "The plumber cannot come before next week." |
| .20–.44 | loosely related: one thing or topic in common | "Rosa sings in a jazz band." · "Rosa needs new glasses." |
| 0–.19 | unrelated | "The token expires." · "The cherry trees bloom early." |
"""  # noqa: E501 - a table

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wellkept.core.judging.calibration import LEAST_PAIRS, Calibration, FitError, cross_validated, fit
from wellkept.errors import InvalidField, InvalidInput, ModelResponseInvalid
from wellkept.frozen import frozen
from wellkept.parsing import parsed_json

if TYPE_CHECKING:
    from wellkept.models.port import Embedded

Embed = Callable[[Sequence[str]], Sequence["Embedded"]]
Progress = Callable[[int, int], None]

BATCH = 64
_REPEAT, _UNRELATED = 0.95, 0.3
_TELLS_APART = 0.9
"""Share of (repeat, unrelated) couples per language that an embedder must order correctly."""
_LEAST_ORDER = 0.2


class GradedPair(NamedTuple):
    """Two texts, their grade (0 to 1), and the language; `xx` across languages."""

    a: str
    b: str
    grade: float
    lang: str = ""


@frozen
class GradedSet:
    """Graded pairs and the hash of their content.

    Attributes:
        shipped: Whether this is the packaged set.
    """

    pairs: tuple[GradedPair, ...]
    hash: str
    shipped: bool = False

    @property
    def texts(self) -> list[str]:
        """All texts, without repeats."""
        return list(dict.fromkeys(text for pair in self.pairs for text in (pair.a, pair.b)))


@frozen
class Measured:
    """A calibration fitted for an embedder, with its quality.

    Attributes:
        pairs: Number of pairs in the fit.
        left_out: Number of excluded pairs by language.
        order: Rank correlation of cosine and grade, at best 1.
        error: Cross-validated error.
    """

    calibration: Calibration
    pairs: int
    left_out: dict[str, int]
    order: float
    error: FitError


@lru_cache(maxsize=1)
def shipped() -> GradedSet:
    """The packaged pairs."""
    data = resources.files("wellkept.models").joinpath("data", "graded_pairs.jsonl").read_text("utf-8")
    return _graded(data, "graded_pairs.jsonl", shipped=True)


def read(file: Path) -> GradedSet:
    """Your own pairs: JSON lines with `a`, `b`, `grade` (0 to 1) and optional `lang`.

    Raises:
        InvalidField: The file is unreadable, a line is no graded pair, or there are too few.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidField(f"cannot be read: {error.strerror}", where=str(file), todo="Check the path") from error
    except UnicodeDecodeError as error:
        raise InvalidField("is not UTF-8", where=str(file), todo="Save it as UTF-8") from error
    return _graded(text, str(file))


def measure(embedder_id: str, embed: Embed, graded: GradedSet, *, progress: Progress | None = None) -> Measured:
    """Embed the pairs and fit a calibration for the embedder.

    Excluded are pairs with a text that the embedder cannot read or only spells, and languages in which it does not
    separate repeats from unrelated statements. They would lower the scale of the other languages and every threshold.

    Raises:
        ModelResponseInvalid: The cosines do not correlate with the grades.
    """
    from wellkept.core.judging.calibration import rank_correlation

    vectors = _embedded(graded.texts, embed, progress)
    rows, left_out = [], dict[str, int]()
    for lang, pairs in _by_language(graded.pairs).items():
        found = list(_cosines(pairs, vectors))
        kept = found if _tells_apart(found) else []
        rows += kept
        if len(kept) < len(pairs):
            left_out[lang or "?"] = len(pairs) - len(kept)
    raws, grades = [raw for raw, _ in rows], [grade for _, grade in rows]
    order = rank_correlation(raws, grades)
    if len(rows) < LEAST_PAIRS or order < _LEAST_ORDER:
        raise ModelResponseInvalid(
            f"the embedder does not tell like from unlike: it orders {len(rows)} of {len(graded.pairs)} graded "
            f"pairs, with a rank correlation of {order:.2f}",
            where=embedder_id,
            todo="Choose another embedder, or check the model's name and prefix",
        )
    try:
        table = fit(f"{embedder_id}/{graded.hash}", raws, grades)
        error = cross_validated(raws, grades)
    except ValueError as refused:
        raise ModelResponseInvalid(
            str(refused), where=embedder_id, todo="Choose another embedder, or check the model's name and prefix"
        ) from refused
    return Measured(table, len(rows), left_out, round(order, 4), error)


def _embedded(texts: Sequence[str], embed: Embed, progress: Progress | None) -> dict[str, Embedded]:
    vectors: dict[str, Embedded] = {}
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        vectors.update(zip(batch, embed(batch), strict=True))
        if progress is not None:
            progress(start + len(batch), len(texts))
    return vectors


def _by_language(pairs: Sequence[GradedPair]) -> dict[str, list[GradedPair]]:
    found: dict[str, list[GradedPair]] = {}
    for pair in pairs:
        found.setdefault(pair.lang, []).append(pair)
    return found


def _cosines(pairs: Sequence[GradedPair], vectors: dict[str, Embedded]) -> Iterator[tuple[float, float]]:
    from wellkept.core.records.vectors import cosine

    for pair in pairs:
        left, right = vectors[pair.a], vectors[pair.b]
        if left.vector is None or right.vector is None or left.spelled or right.spelled:
            continue
        yield cosine(left.vector, right.vector), pair.grade


def _tells_apart(rows: Sequence[tuple[float, float]]) -> bool:
    """Whether repeats of a language nearly always have a higher cosine than unrelated statements."""
    high = [raw for raw, grade in rows if grade >= _REPEAT]
    low = [raw for raw, grade in rows if grade <= _UNRELATED]
    if not high or not low:
        return True
    right = sum(one > other for one in high for other in low)
    return right >= _TELLS_APART * len(high) * len(low)


# --------------------------------------------------------------------------------------------
# Reading


def _graded(text: str, where: str, *, shipped: bool = False) -> GradedSet:
    # Only line feeds end a line: texts may hold other separators.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    pairs = tuple(_pair(line, f"{where}, line {number}") for number, line in lines)
    if len(pairs) < LEAST_PAIRS:
        raise InvalidField(f"holds {len(pairs)} graded pairs, {LEAST_PAIRS} are needed", where=where, todo="Add some")
    told = "\n".join(json.dumps(pair, ensure_ascii=True) for pair in pairs)
    return GradedSet(pairs, hashlib.sha256(told.encode()).hexdigest()[:12], shipped)


def _pair(line: str, where: str) -> GradedPair:
    try:
        row = parsed_json(line)
    except InvalidInput:
        row = None
    if not isinstance(row, dict):
        raise InvalidField("is not a JSON object", where=where, todo='Write {"a": "…", "b": "…", "grade": 0.8}')
    a, b, grade, lang = row.get("a"), row.get("b"), row.get("grade"), row.get("lang", "")
    if not (isinstance(a, str) and isinstance(b, str) and a.strip() and b.strip() and isinstance(lang, str)):
        raise InvalidField("a and b must be texts", where=where, todo='Write {"a": "…", "b": "…", "grade": 0.8}')
    # In Python bool is an int; the comparison also rejects NaN.
    if not isinstance(grade, int | float) or isinstance(grade, bool) or not 0.0 <= grade <= 1.0:
        raise InvalidField("grade must be a number from 0 to 1", where=where, todo="Rescale your grades")
    return GradedPair(a, b, float(grade), lang)
