"""Deterministic clock and ids for tests."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


class FrozenClock:
    """A clock that moves only by `advance`.

    Example:
        >>> clock = FrozenClock(datetime(2026, 3, 1, tzinfo=UTC))
        >>> clock.advance(minutes=30)
        datetime.datetime(2026, 3, 1, 0, 30, tzinfo=datetime.timezone.utc)
        >>> clock() == clock()
        True
    """

    def __init__(self, start: datetime = _START) -> None:
        if start.tzinfo is None:
            raise ValueError("a clock needs an aware time")
        self._now = start.astimezone(UTC)

    def __call__(self) -> datetime:
        """The current time of the clock."""
        return self._now

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, microseconds: float = 0
    ) -> datetime:
        """Move the time forward (or back, with negative values) and return it."""
        self._now += timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=microseconds)
        return self._now


class CountingIds:
    """Sequential ids in UUIDv7 format, numbered from 1; they sort in order of creation.

    Example:
        >>> ids = CountingIds()
        >>> ids()
        '019b796d-d601-7000-8000-000000000001'
        >>> ids() < ids()
        True
    """

    def __init__(self, first: int = 1, *, start: datetime = _START) -> None:
        self._next = first
        self._milliseconds = int(start.timestamp() * 1000)

    def __call__(self) -> str:
        """The next id."""
        number = self._next
        self._next += 1
        # One millisecond per id keeps the time part increasing; the number fills the random part.
        bits = (self._milliseconds + number) << 80 | 7 << 76 | 2 << 62 | number
        return str(uuid.UUID(int=bits))
