"""The token of whoever starts a server for themselves: made with the server, opening everything, ending with it."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NoReturn

from wellkept.engine.base.secrets import new_secret
from wellkept.errors import InvalidField
from wellkept.server.access.grants import EVERYTHING, Grant
from wellkept.server.access.token_record import Token


class OwnerToken:
    """The only token of a server that its owner started; see `TokenKeeper`. It is kept in memory and nowhere else.

    Args:
        actor: Name of the owner, for the journal.

    Example:
        >>> owner = OwnerToken("mara")
        >>> owner.grant_of(owner.secret).actor, owner.grant_of("another")
        ('mara', None)
    """

    def __init__(self, actor: str) -> None:
        self.secret = new_secret()
        self._grant = Grant(actor=actor, namespaces=EVERYTHING.namespaces, scopes=EVERYTHING.scopes)

    def grant_of(self, secret: str) -> Grant | None:
        """See `TokenKeeper.grant_of`."""
        return self._grant if hmac.compare_digest(secret.encode(), self.secret.encode()) else None

    @property
    def required(self) -> bool:
        """See `TokenKeeper.required`."""
        return True

    @property
    def usable(self) -> bool:
        """See `TokenKeeper.usable`."""
        return True

    def list(self) -> tuple[Token, ...]:
        """See `TokenKeeper.list`; this token is not listed."""
        return ()

    def create(
        self, *, name: str, namespaces: Sequence[str], scopes: Iterable[str], expires_at: datetime | None = None
    ) -> NoReturn:
        """See `TokenKeeper.create`; this server takes no other token."""
        raise self._alone()

    def revoke(self, token_id: str) -> NoReturn:
        """See `TokenKeeper.revoke`; stopping the server ends its token."""
        raise self._alone()

    def _alone(self) -> InvalidField:
        todo = "Use `wellkept token` with a server that `wellkept serve` starts"
        return InvalidField("this server has the token of its owner only", where="token", todo=todo)
