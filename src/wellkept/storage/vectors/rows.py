"""What a backend hands to the matrix of a namespace; loads no numpy, as every transaction names a matrix's content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.frozen import frozen
from wellkept.types import Status

if TYPE_CHECKING:
    from wellkept.types import Vector


@frozen
class Row:
    """The indexed fields of a memory; without a vector it is never proposed."""

    kind: str
    status: Status
    vector: Vector | None


@frozen
class Stamp:
    """Identity of a matrix's content; when it differs, the matrix is rebuilt."""

    store_id: str
    model: int
    dim: int


@frozen
class Block:
    """Some stored rows in columns; `blob` holds their vectors, concatenated."""

    ids: Sequence[str]
    kinds: Sequence[str]
    statuses: Sequence[Status]
    blob: bytes
