"""The tokens of a store in its database, so that several servers share them and the rules of access know them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from wellkept.storage.postgres.session import Begun

_TOKEN_LOCK = 0x57454C4B70C
"""The advisory lock of whoever makes a token: their number is bounded."""
_WAIT = "30s"
_KEY_OF = b"wellkept/postgresql/1\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A token as the database keeps it.

    Attributes:
        hash: SHA-256 of the key, in hexadecimal.
        name: Who acts with it.
        patterns: Of the namespaces it opens.
        scopes: What it may do there.
        created_at / expires_at / revoked_at: Its life; None where there is no such moment.
    """

    hash: str
    name: str
    patterns: tuple[str, ...]
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


def key_of(secret: str) -> str:
    """What a transaction shows instead of a secret.

    A log of the database that keeps what statements were given, or whoever reads it, learns this and not the
    secret: it opens no server, and of use it is only to one who may log in to the database anyway.

    Example:
        >>> len(key_of("wk_x")), key_of("wk_x") == key_of("wk_y")
        (64, False)
    """
    return hashlib.sha256(_KEY_OF + secret.encode("utf-8", "surrogatepass")).hexdigest()


class TokenTable:
    """The table `token` of a store.

    Args:
        begun: Gives a connection inside of a transaction that was begun by the statement of that name.
        behind: Whether the login is one of those who see nothing without a token; it may look up a token whose
            secret it was given, and nothing else.
    """

    def __init__(self, begun: Begun, *, behind: bool) -> None:
        self._begun = begun
        self._behind = behind

    def put(self, secret: str, row: TokenRow, *, most: int) -> str | None:
        """Keep a token, where there is room for it or one that has ended makes room.

        Args:
            secret: Its secret, which is not kept.
            row: All else but its hash.
            most: How many there may be.

        Returns:
            Its hash; None where there is no room.
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
        """All tokens, oldest first, with those that ended."""
        with self._begun("begin.read") as session:
            return [_row(*row) for row in session.rows("token.all")]

    def revoke(self, begins: str, at: datetime) -> list[TokenRow]:
        """End the token whose hash begins so, if there is one only.

        Returns:
            Those it fits; the one, as it is now, if there is one only.
        """
        with self._begun("begin.write") as session:
            found = session.rows("token.begins", {"begins": begins})
            if len(found) == 1:
                found = session.rows("token.revoke", {"hash": found[0][0], "at": at})
                session.run("commit")
        return [_row(*row) for row in found]

    def grant_of(self, secret: str) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
        """Name, patterns and scopes of an active token; None for any other, all alike."""
        with self._begun("begin.read") as session:
            row = session.row("token.grant_of", {"key": key_of(secret)})
        return None if row is None else (row[0], tuple(row[1]), tuple(row[2]))

    def any(self) -> bool:
        """Whether there is one at all, also one that ended; true where only a token opens anything."""
        return self._behind or self._is("token.any")

    def usable(self) -> bool:
        """Whether there is one that opens anything now; believed where the login cannot see them."""
        return self._behind or self._is("token.usable")

    def _is(self, name: str) -> bool:
        with self._begun("begin.read") as session:
            return bool(session.row(name)[0])


def _row(
    digest: str,
    name: str,
    patterns: list[str],
    scopes: list[str],
    created_at: datetime,
    expires_at: datetime | None,
    revoked_at: datetime | None,
) -> TokenRow:
    return TokenRow(
        hash=digest,
        name=name,
        patterns=tuple(patterns),
        scopes=tuple(scopes),
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
    )
