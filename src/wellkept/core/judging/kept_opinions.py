"""Opinions of the relation model as the journal keeps them: to the last digit, in a few bytes for each text.

An opinion depends on the texts that were read together, and on nothing else. So a reading names them by one digest, and
answers only who asks about the same texts again.
"""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence

from wellkept.core.judging.list_head import ReadTwice
from wellkept.types import Opinion, Reading

_DIGITS = 10_000
"""Probabilities have four decimals."""
_DIGEST_BYTES = 12


def digest_of(new: str, older: Iterable[str]) -> str:
    """16 letters that name a new text and the older ones beside it.

    Args:
        new: The new text.
        older: The older texts, each once, sorted.
    """
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for text in (new, *older):
        part = text.encode("utf-8", "surrogatepass")
        digest.update(len(part).to_bytes(8, "big") + part)
    return b64encode(digest.digest()).decode()


def reading_of(model: str, new: str, older: Mapping[str, str], told: Mapping[str, Opinion | None]) -> Reading | None:
    """What the journal keeps of one reading; None if there is nothing to keep, or it has more digits than are kept.

    Args:
        model: Id of the model.
        new: The new text.
        older: The older texts by memory id.
        told: Opinions by older text; None for a text that cannot be read.
    """
    texts = sorted(set(older.values()))
    packed = bytearray()
    for text in texts:
        opinion = told[text]
        parts = () if opinion is None else _parts(opinion)
        packed.append(len(parts))
        for part in parts:
            numbers = _numbers(part)
            if part.model != model or numbers is None:
                return None
            packed += numbers
    if not texts:
        return None
    opinions = b64encode(packed).rstrip(b"=").decode()
    return Reading(model=model, memory_ids=tuple(older), texts=digest_of(new, texts), opinions=opinions)


def opinions_in(reading: Reading, count: int) -> tuple[Opinion | None, ...] | None:
    """The opinions of a reading, in the order of its texts; None if it does not hold this many.

    Example:
        >>> said = Opinion(same=0.0312, refines=0.0, generalises=0.0001, conflict=0.0, distinct=0.9687, model="m")
        >>> kept = reading_of("m", "Tea at five.", {"a": "Tea at four."}, {"Tea at four.": said})
        >>> kept.opinions, opinions_in(kept, 1) == (said,)
        ('AbgCAAEAuQI', True)
    """
    try:
        numbers = iter(b64decode(reading.opinions + "=" * (-len(reading.opinions) % 4), validate=True))
        told = tuple(_opinion(numbers, reading.model) for _ in range(count))
    except (binascii.Error, ValueError, StopIteration, RuntimeError):
        return None
    return told if next(numbers, None) is None else None


def _parts(opinion: Opinion) -> Sequence[Opinion]:
    """An opinion alone, or the mean of two readings with both, and with a third reading if there was one."""
    if not isinstance(opinion, ReadTwice):
        return (opinion,)
    third = () if opinion.third is None else (opinion.third,)
    return (opinion.plain, opinion.first, opinion.second, *third)


def _numbers(opinion: Opinion) -> bytes | None:
    """The five probabilities, small ones in one byte; most candidates are surely *distinct*."""
    shares = (opinion.same, opinion.refines, opinion.generalises, opinion.conflict, opinion.distinct)
    numbers = [round(share * _DIGITS) for share in shares]
    if any(number / _DIGITS != share for number, share in zip(numbers, shares, strict=True)):
        return None
    numbers[-1] = _DIGITS - numbers[-1]
    packed = bytearray()
    for number in numbers:
        while number >= 128:
            packed.append(number % 128 + 128)
            number //= 128
        packed.append(number)
    return bytes(packed)


def _opinion(numbers: Iterator[int], model: str) -> Opinion | None:
    match next(numbers):
        case 0:
            return None
        case 1:
            return _one(numbers, model)
        case 3 | 4 as count:
            mean, first, second, *third = (_one(numbers, model) for _ in range(count))
            shares = (mean.same, mean.refines, mean.generalises, mean.conflict, mean.distinct)
            return ReadTwice(*shares, model, first=first, second=second, third=third[0] if third else None)
        case other:
            raise ValueError(other)


def _one(numbers: Iterator[int], model: str) -> Opinion:
    found = [_number(numbers) for _ in range(5)]
    if max(found) > _DIGITS:
        raise ValueError(found)
    same, refines, generalises, conflict = (number / _DIGITS for number in found[:-1])
    return Opinion(same, refines, generalises, conflict, (_DIGITS - found[-1]) / _DIGITS, model)


def _number(numbers: Iterator[int]) -> int:
    number = shift = 0
    while True:
        part = next(numbers)
        if shift > 2 * 7:
            raise ValueError(shift)
        number |= (part & 127) << shift
        shift += 7
        if part < 128:
            return number
