"""The connection that transactions of the SQL backends use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any] | None


class Answer(NamedTuple):
    """What a statement did: the number of changed rows, or the rows of a query."""

    changed: int
    rows: list[Any]


class Session(ABC):
    """Runs named statements inside a transaction and raises typed errors.

    A list among the parameters is several values.

    Attributes:
        where: Name of the store in errors.
    """

    where: str

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A separate writing transaction: committed at the end of the block, rolled back after an error."""
        self.run("begin.write")
        try:
            yield
            self.run("commit")
        except BaseException:
            self.rollback()
            raise

    def row(self, name: str, parameters: Parameters = None) -> Any:
        """The first row of a query, or None."""
        rows = self.rows(name, parameters)
        return rows[0] if rows else None

    def rows(self, name: str, parameters: Parameters = None) -> list[Any]:
        """All rows of a query."""
        return self.select(self.text(name), parameters)

    def composed(self, names: Sequence[str], parameters: Parameters) -> list[Any]:
        """All rows of the query that consists of the parts with these names."""
        return self.select(self.text(*names), parameters)

    # ---- implemented by a backend ----

    @abstractmethod
    def text(self, *names: str) -> str:
        """The statement that consists of the parts with these names."""

    @abstractmethod
    def run(self, name: str, parameters: Parameters = None) -> int:
        """Run a statement; return the number of changed rows."""

    @abstractmethod
    def many(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement for each row."""

    @abstractmethod
    def put(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement for each row, at the latest with the next statement."""

    @abstractmethod
    def batch(self, asked: Sequence[tuple[str, Parameters]]) -> list[Answer]:
        """Run several statements, at once where the backend can."""

    @abstractmethod
    def select(self, sql: str, parameters: Parameters = None) -> list[Any]:
        """All rows of a query given as text."""

    @abstractmethod
    def blocks(self, name: str, parameters: Parameters, size: int) -> Iterator[list[Any]]:
        """The rows of a query in blocks of `size`, for results too large for memory."""

    @abstractmethod
    def rollback(self) -> None:
        """Roll back an open transaction, if there is one."""

    @abstractmethod
    def vector(self, blob: bytes) -> bytes:
        """A vector (little-endian float16) as the parameter of a statement."""

    @abstractmethod
    def vector_bytes(self, sent: Sequence[bytes]) -> bytes:
        """Vectors of one dimension from a query, concatenated, as little-endian float16."""

    @abstractmethod
    def vector_size(self, dim: int) -> int:
        """Bytes of a vector of this dimension in the result of a query."""
