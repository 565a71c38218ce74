"""The connection that the transactions of a backend speak through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol


class Session(Protocol):
    """Runs named statements inside a transaction, and gives typed errors.

    Attributes:
        where: What errors say of the place.
    """

    where: str

    def text(self, name: str) -> str:
        """The statement, or the part of one, with this name."""
        ...

    def run(self, name: str, parameters: Mapping[str, Any] = ...) -> int:
        """Run a statement; return how many rows it changed."""
        ...

    def many(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement for each row."""
        ...

    def row(self, name: str, parameters: Mapping[str, Any] = ...) -> Any:
        """The first row of a query, or None."""
        ...

    def rows(self, name: str, parameters: Mapping[str, Any] = ...) -> list[Any]:
        """All rows of a query."""
        ...

    def select(self, sql: str, parameters: Mapping[str, Any] = ...) -> list[Any]:
        """All rows of a query that was put together from named parts."""
        ...

    def blocks(self, name: str, parameters: Mapping[str, Any], size: int) -> Iterator[list[Any]]:
        """The rows of a query, so many at a time."""
        ...

    def listed(self, values: Iterable[Any]) -> Any:
        """Several values as the one parameter that a statement takes for them."""
        ...

    def vector(self, blob: bytes) -> bytes:
        """A vector, little-endian float16, as the parameter that a statement takes for it."""
        ...

    def vector_bytes(self, sent: Sequence[bytes]) -> bytes:
        """The vectors of one length that a query gave, one behind the other, in little-endian float16."""
        ...

    def vector_size(self, dim: int) -> int:
        """How many bytes a query gives for a vector of so many components."""
        ...
