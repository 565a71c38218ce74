"""The packaged relation model, loaded: its networks, and the opinion from their readings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellkept.core.judging.list_head import ReadTwice
from wellkept.core.judging.second_reader import doubtful
from wellkept.core.reading.language_detection import is_english
from wellkept.errors import ModelUnavailable
from wellkept.models.multilingual import strange_share, vectors_of
from wellkept.models.onnx import first_output, side_by_side
from wellkept.models.port import PartUnavailable
from wellkept.models.tokenizer.lists import LONGEST_PAIR, ListReader, ListRow, fed, in_rows
from wellkept.models.tokenizer.pairs import CLEARLY_DISTINCT, FRAME_PIECES, LABELS, MIRROR, Read, logits_of, shares
from wellkept.types import Opinion

Logits: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Network:
    """A network with its tokeniser.

    Attributes:
        reader: Makes its rows.
        session: The session of the verified weights.
        scale / bias: Calibration of the logits, the same for all relations / for each one.
        unreadable: Share of unknown letters above which a text is not read.
        shared: Folder of the vectors of pieces, of the network for other languages; it reads only scripts that it has
            learnt.
        clearly: Probability of *distinct* from which a candidate is not read again, alone.
    """

    reader: ListReader
    session: Any
    scale: float
    bias: Sequence[float]
    unreadable: float
    shared: Path | None = None
    clearly: float = CLEARLY_DISTINCT

    def listed(self, new: str, texts: Sequence[str]) -> dict[str, Logits]:
        """The logits of how a new text relates to each of the texts, read together; unreadable ones are left out."""
        ours, older = self.legible(new), {text: read for text in texts if (read := self.legible(text))}
        told: dict[str, Logits] = {}
        if ours is None:
            return told
        legible = list(older)
        for places in in_rows(ours, list(older.values())):
            row = self.reader.row(ours, [older[legible[place]] for place in places])
            for place, logits in zip(places, self._run(row), strict=True):
                told[legible[place]] = logits[list(MIRROR)]
        return told

    def alone(self, old: str, new: str) -> Logits:
        """The logits of a readable pair, the older text read in the place of the new one."""
        return self._alone(self.reader.read(old), self.reader.read(new))

    def paired(self, old: str, new: str) -> Logits | None:
        """The logits of a pair, read in both orders; None if it is unreadable or too long."""
        reads = {text: read for text in (old, new) if (read := self.legible(text))}
        if not {old, new} <= reads.keys() or not _fits(reads[old], reads[new]):
            return None
        return logits_of(lambda one, other: self._alone(reads[one], reads[other]), old, new)

    def calibrated(self, logits: Logits) -> Logits:
        """The logits whose shares are probabilities."""
        return np.asarray(logits * self.scale + np.asarray(self.bias, dtype=np.float64))

    def legible(self, text: str) -> Read | None:
        """The pieces of a text that can be read."""
        read = self.reader.read(text)
        return read if read.unknown <= self.unreadable and self._has_learnt(text) else None

    def _has_learnt(self, text: str) -> bool:
        return self.shared is None or strange_share(text) <= self.unreadable

    def _alone(self, first: Read, second: Read) -> Logits:
        """The logits of how the second text relates to the first one, read in the place of the new text."""
        logits: Logits = self._run(self.reader.row(first, [second]))[0]
        return logits

    def _run(self, row: ListRow) -> Logits:
        """Logits of each candidate's relation, as if it were the newer text."""
        given: dict[str, NDArray[Any]] = {**fed(row)}
        if self.shared is not None:
            given["words"] = vectors_of([row.pieces], self.shared)
        logits = first_output(self.session, given, what="the relation model")
        return np.asarray(np.round(logits, 4), dtype=np.float64)


class LoadedModel:
    """Both networks: one reads every text that it can spell, the other texts that are not English.

    Args:
        english: The network for English, which reads other languages too, less well.
        multilingual: Loads the network for other languages at its first use.
        model: Id of the model, for its opinions.
        second_reader: Whether that network also reads English lists that leave a doubt.
    """

    def __init__(
        self, english: Network, multilingual: Callable[[], Network], *, model: str, second_reader: bool = False
    ) -> None:
        self._english, self._multilingual = english, multilingual
        self._name, self._second_reader = model, second_reader

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """The opinions on pairs."""
        self._prepare(pairs)
        return side_by_side(lambda pair: self.opinion(*pair), pairs)

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        """The opinions on the older texts of lists."""
        self._prepare([(new, *texts) for new, texts in lists])
        told = side_by_side(lambda one: self.opinions(*one), lists)
        if self._second_reader:
            self._read_again(lists, told)
        return told

    def _prepare(self, asked: Sequence[Sequence[str]]) -> None:
        """Load the network for other languages if one of these texts needs it.

        Raises:
            PartUnavailable: It cannot be loaded.
        """
        self._load_for([place for place, texts in enumerate(asked) if not all(map(is_english, texts))])

    def _load_for(self, places: Sequence[int]) -> None:
        try:
            if places:
                self._multilingual()
        except ModelUnavailable as error:
            raise PartUnavailable(error, places) from error

    def opinion(self, old: str, new: str) -> Opinion | None:
        """The opinion on one pair."""
        networks = [self._english] if is_english(old) and is_english(new) else [self._english, self._multilingual()]
        told = [network.calibrated(logits) for network in networks if (logits := network.paired(old, new)) is not None]
        return self._opinion(np.mean(told, axis=0)) if told else None

    def opinions(self, new: str, texts: Sequence[str]) -> list[Opinion | None]:
        """The opinions on the older texts of a list, in order."""
        # In one order the sums in the network are the same to the last digit.
        older = sorted(set(texts))
        told = self._english.listed(new, older)
        others = older if not is_english(new) else [text for text in older if not is_english(text)]
        again = self._multilingual().listed(new, others) if others else {}
        found = {text: self._of_readings(new, text, told.get(text), again.get(text)) for text in older}
        return [found[text] for text in texts]

    def _read_again(self, lists: Sequence[tuple[str, Sequence[str]]], told: Sequence[list[Opinion | None]]) -> None:
        """Add the other network's opinions to those on the English texts of lists that leave a doubt."""
        wanted = {}
        for place, ((new, texts), opinions) in enumerate(zip(lists, told, strict=True)):
            again = doubtful(dict(zip(texts, opinions, strict=True))) if is_english(new) else []
            if english := sorted(filter(is_english, again)):
                wanted[place] = english
        self._load_for(list(wanted))
        network = self._multilingual() if wanted else self._english
        read = side_by_side(lambda place: network.listed(lists[place][0], wanted[place]), list(wanted))
        for place, found in zip(wanted, read, strict=True):
            third = {text: self._opinion(network.calibrated(logits)) for text, logits in found.items()}
            told[place][:] = [
                _with_third(opinion, third[text]) if opinion and text in third else opinion
                for text, opinion in zip(lists[place][1], told[place], strict=True)
            ]

    def _of_readings(self, new: str, old: str, first: Logits | None, other: Logits | None) -> Opinion | None:
        """The opinion on a candidate from its logits in the list, by the network for English and by the other one.

        A text that is not clearly *distinct* is read again, alone, by the network for its language: English as a part
        of the mean, what is not English for the heads only.
        """
        readings = [] if first is None else [self._english.calibrated(first)]
        if other is not None:
            readings.append(self._multilingual().calibrated(other))
        elif first is not None and shares(first)[-1] < self._english.clearly:
            readings.append(self._english.calibrated(self._english.alone(old, new)))
        if len(readings) < 2:
            return self._opinion(readings[0]) if readings else None
        mean = self._opinion(np.mean(readings, axis=0))
        one, two = map(self._opinion, readings)
        third = None
        if other is not None and mean.distinct < (network := self._multilingual()).clearly:
            third = self._opinion(network.calibrated(network.alone(old, new)))
        return ReadTwice(**asdict(mean), first=one, second=two, third=third)

    def _opinion(self, logits: Logits) -> Opinion:
        return Opinion(**self._told(logits))

    def _told(self, logits: Logits) -> Mapping[str, Any]:
        told = zip(LABELS, shares(logits), strict=True)
        return {label: round(float(share), 4) for label, share in told} | {"model": self._name}


def _with_third(opinion: Opinion, third: Opinion) -> Opinion:
    """An opinion with that of the other network beside it."""
    if isinstance(opinion, ReadTwice):
        return replace(opinion, third=third)
    return ReadTwice(**asdict(opinion), first=opinion, second=opinion, third=third)


def _fits(one: Read, other: Read) -> bool:
    return len(one.pieces) + len(other.pieces) + FRAME_PIECES <= LONGEST_PAIR
