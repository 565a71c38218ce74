"""Tokens in the database of a store, shared by all its servers.

Each request takes one indexed query. The stored values give no access by themselves; see
`storage.postgres.shared.tokens.key_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.engine.base.context import Clock, utc_now
from wellkept.engine.base.secrets import new_secret
from wellkept.server.access.grants import Grant, check_scopes
from wellkept.server.access.token_record import ID_LENGTH, MAX_SECRET, Token, checked_token, no_room, require_one

if TYPE_CHECKING:
    from wellkept.storage.postgres.shared.tokens import TokenRow, TokenTable

MAX_ROWS = 100_000


class DatabaseTokens:
    """The tokens of a store in a database; see `TokenKeeper`.

    Args:
        table: The table of tokens.
        clock: The clock, for tests; expiry is checked by the server's own clock.
        new_secret: Generates secrets, for tests.
    """

    def __init__(
        self, table: TokenTable, *, clock: Clock = utc_now, new_secret: Callable[[], str] = new_secret
    ) -> None:
        self._table = table
        self._clock = clock
        self._new_secret = new_secret
        self._seen = False

    def create(
        self, *, name: str, namespaces: Sequence[str], scopes: Iterable[str], expires_at: datetime | None = None
    ) -> tuple[str, str]:
        """See `TokenKeeper.create`."""
        from wellkept.storage.postgres.shared.tokens import TokenRow

        new = checked_token(name, namespaces, scopes, expires_at, now=self._clock())
        secret = self._new_secret()
        row = TokenRow(
            hash="",
            name=new.name,
            patterns=new.namespaces,
            scopes=new.scopes,
            created_at=new.created_at,
            expires_at=new.expires_at,
        )
        made = self._table.put(secret, row, most=MAX_ROWS)
        if made is None:
            raise no_room(MAX_ROWS, "the database")
        return made[:ID_LENGTH], secret

    def list(self) -> tuple[Token, ...]:
        """See `TokenKeeper.list`."""
        return tuple(_token(row) for row in self._table.rows())

    def revoke(self, token_id: str) -> Token:
        """See `TokenKeeper.revoke`."""
        found = self._table.revoke(token_id, self._clock()) if token_id else []
        require_one(token_id, [row.hash[:ID_LENGTH] for row in found])
        return _token(found[0])

    def grant_of(self, secret: str) -> Grant | None:
        """See `TokenKeeper.grant_of`."""
        found = self._table.grant_of(secret) if len(secret) <= MAX_SECRET else None
        if found is None:
            return None
        name, patterns, scopes = found
        return Grant(actor=name, namespaces=patterns, scopes=frozenset(check_scopes(scopes)), secret=secret)

    @property
    def required(self) -> bool:
        """See `TokenKeeper.required`."""
        self._seen = self._seen or self._table.any()
        return self._seen

    @property
    def usable(self) -> bool:
        """See `TokenKeeper.usable`."""
        return self._table.usable()


def _token(row: TokenRow) -> Token:
    return Token(
        id=row.hash[:ID_LENGTH],
        name=row.name,
        namespaces=row.patterns,
        scopes=check_scopes(row.scopes),
        hash=row.hash,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )
