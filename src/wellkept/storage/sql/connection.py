"""The connection protocol that transactions of the SQL backends use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class Answer(NamedTuple):
    """What a statement did: the number of changed rows, or the rows of a query."""

    changed: int
    rows: list[Any]


class Session(Protocol):
    """Runs named statements inside a transaction and raises typed errors.

    A list among the parameters is several values.

    Attributes:
        where: Name of the store in errors.
    """

    where: str

    def run(self, name: str, parameters: Mapping[str, Any] = ...) -> int:
        """Run a statement; return the number of changed rows."""
        ...

    def many(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement for each row."""
        ...

    def put(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement for each row, at the latest with the next statement."""
        ...

    def batch(self, asked: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Answer]:
        """Run several statements, at once where the backend can."""
        ...

    def row(self, name: str, parameters: Mapping[str, Any] = ...) -> Any:
        """The first row of a query, or None."""
        ...

    def rows(self, name: str, parameters: Mapping[str, Any] = ...) -> list[Any]:
        """All rows of a query."""
        ...

    def composed(self, names: Sequence[str], parameters: Mapping[str, Any]) -> list[Any]:
        """All rows of the query that consists of the parts with these names."""
        ...

    def blocks(self, name: str, parameters: Mapping[str, Any], size: int) -> Iterator[list[Any]]:
        """The rows of a query in blocks of `size`."""
        ...

    def vector(self, blob: bytes) -> bytes:
        """A vector (little-endian float16) as the parameter of a statement."""
        ...

    def vector_bytes(self, sent: Sequence[bytes]) -> bytes:
        """Vectors of one dimension from a query, concatenated, as little-endian float16."""
        ...

    def vector_size(self, dim: int) -> int:
        """Bytes of a vector of this dimension in the result of a query."""
        ...
