"""The tokens of a store in its database, shared by several servers and used by row-level security."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from wellkept.frozen import frozen
from wellkept.storage.postgres.session import Begun

_TOKEN_LOCK = 0x57454C4B70C
"""The advisory lock for creating a token, because their number is bounded."""
_WAIT = "30s"
_KEY_OF = b"wellkept/postgresql/1\0"


@frozen
class TokenRow:
    """A stored token.

    Attributes:
        hash: SHA-256 of the key, in hexadecimal.
        name: Name of its holder.
        patterns: Patterns of the namespaces that it opens.
        scopes: Operations that it allows there.
        created_at / expires_at / revoked_at: Times of its life cycle; None if not set.
    """

    hash: str
    name: str
    patterns: tuple[str, ...]
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


def key_of(secret: str) -> str:
    """The key that a transaction sends instead of the secret.

    A database log with bound parameters contains this key and not the secret. The key opens no server; it is useful
    only together with a database login.

    Example:
        >>> len(key_of("wk_x")), key_of("wk_x") == key_of("wk_y")
        (64, False)
    """
    return hashlib.sha256(_KEY_OF + secret.encode("utf-8", "surrogatepass")).hexdigest()


class TokenTable:
    """The table `token` of a store.

    Args:
        begun: Opens a connection inside a transaction that begins with the statement of that name.
        behind: Whether the login needs a token; then it can look up a token only by its secret.
    """

    def __init__(self, begun: Begun, *, behind: bool) -> None:
        self._begun = begun
        self._behind = behind

    def put(self, secret: str, row: TokenRow, *, most: int) -> str | None:
        """Store a token; at the limit, an ended token is removed to make room.

        Args:
            secret: Its secret, which is not stored.
            row: Its other fields; the hash is ignored.
            most: Maximum number of tokens.

        Returns:
            Its hash; None if there is no room.
        """
        with self._begun("begin.write") as session:
            session.row("token.lock", {"wait": _WAIT, "tokens": _TOKEN_LOCK})
            if session.row("token.count")[0] >= most and not session.run("token.make_room"):
                return None
            made: str = session.row(
                "token.put",
                {
                    "key": key_of(secret),
                    "name": row.name,
                    "patterns": list(row.patterns),
                    "scopes": list(row.scopes),
                    "created_at": row.created_at,
                    "expires_at": row.expires_at,
                },
            )[0]
            session.run("commit")
        return made

    def rows(self) -> list[TokenRow]:
        """All tokens, oldest first, including ended ones."""
        with self._begun("begin.read") as session:
            return [_row(row) for row in session.rows("token.all")]

    def revoke(self, begins: str, at: datetime) -> list[TokenRow]:
        """Revoke the token whose hash starts with `begins`, if exactly one does.

        Returns:
            All tokens that match; a single one in its new state.
        """
        with self._begun("begin.write") as session:
            found = session.rows("token.begins", {"begins": begins})
            if len(found) == 1:
                found = session.rows("token.revoke", {"hash": found[0][0], "at": at})
                session.run("commit")
        return [_row(row) for row in found]

    def grant_of(self, secret: str) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
        """Name, patterns and scopes of an active token; None for any other, without the reason."""
        with self._begun("begin.read") as session:
            row = session.row("token.grant_of", {"key": key_of(secret)})
        return None if row is None else (row[0], tuple(row[1]), tuple(row[2]))

    def any(self) -> bool:
        """Whether any token exists, including ended ones; always true for a login that needs a token."""
        return self._behind or self._is("token.any")

    def usable(self) -> bool:
        """Whether an active token exists; assumed true for a login that cannot list them."""
        return self._behind or self._is("token.usable")

    def _is(self, name: str) -> bool:
        with self._begun("begin.read") as session:
            return bool(session.row(name)[0])


def _row(row: Sequence[Any]) -> TokenRow:
    digest, name, patterns, scopes, created_at, expires_at, revoked_at = row
    return TokenRow(digest, name, tuple(patterns), tuple(scopes), created_at, expires_at, revoked_at)
