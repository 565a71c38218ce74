"""Tokens, and the interface of the places that keep them: a file or a database, depending on the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, Protocol

from wellkept.engine.base.inputs import label, moment
from wellkept.errors import AmbiguousId, InvalidField, NotFound
from wellkept.frozen import frozen
from wellkept.server.access.grants import Grant, Scope, check_pattern, check_scopes

MAX_SECRET = 200
ID_LENGTH = 12


@frozen(kw_only=True)
class Token:
    """A token without its secret.

    Attributes:
        id: The beginning of its hash.
        name: Name of its holder, for the journal. A token and its successor may share a name.
        namespaces: Patterns such as `acme/*`.
        scopes: The permitted scopes in these namespaces.
        hash: Hexadecimal SHA-256 of the secret, or in a database of a key derived from it.
        created_at / expires_at / revoked_at: Times of its lifecycle; None when there is no such time.
    """

    id: str
    name: str
    namespaces: tuple[str, ...]
    scopes: tuple[Scope, ...]
    hash: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def state(self, now: datetime) -> Literal["active", "expired", "revoked"]:
        """Its state at a given time."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


class TokenKeeper(Protocol):
    """The tokens of one store; safe to use from several threads and processes.

    Every running server applies a change from its next request on.
    """

    def create(
        self, *, name: str, namespaces: Sequence[str], scopes: Iterable[str], expires_at: datetime | None = None
    ) -> tuple[str, str]:
        """Create a token. Its secret is returned and not stored.

        Args:
            name: Name of its holder, for the journal.
            namespaces: Patterns of the namespaces it may access.
            scopes: `read`, `write`, `admin`; each includes those before it.
            expires_at: Expiry time; None for never.

        Returns:
            Its id and its secret.

        Raises:
            InvalidField: A value is invalid; nothing was written.
            StorageError: The file or database cannot be written, or not by this login.
        """
        ...

    def list(self) -> tuple[Token, ...]:
        """All tokens, oldest first, including expired and revoked ones.

        Raises:
            ConfigError: The token file is damaged.
            StorageError: The database does not answer.
        """
        ...

    def revoke(self, token_id: str) -> Token:
        """Revoke a token, by its id or a prefix of it; every running server rejects it from then on.

        Raises:
            NotFound: No token has this id.
            AmbiguousId: The prefix matches several.
        """
        ...

    def grant_of(self, secret: str) -> Grant | None:
        """The grant of a secret; None for an unknown, expired or revoked one, without distinction.

        Raises:
            ConfigError: The token file is damaged; no request is accepted until it is repaired.
            StorageError: The database does not answer; no request is accepted until it does.
        """
        ...

    @property
    def required(self) -> bool:
        """Whether requests need a token: true once a token has been created, even after all have expired."""
        ...

    @property
    def usable(self) -> bool:
        """Whether any token is active now."""
        ...


def checked_token(
    name: str, namespaces: Sequence[str], scopes: Iterable[str], expires_at: datetime | None, *, now: datetime
) -> Token:
    """Check the values of a new token; its id and hash are set by the keeper.

    Raises:
        InvalidField: A value is invalid.
    """
    named = label("name", name)
    if not named:
        raise InvalidField("is empty", where="name", todo="Name who acts with it, such as ci")
    patterns = tuple(dict.fromkeys(check_pattern(pattern) for pattern in namespaces))
    if not patterns:
        raise InvalidField("is empty", where="namespace", todo="Give the namespaces it opens, such as acme/*")
    ends = moment("expires", expires_at)
    if ends is not None and ends <= now:
        raise InvalidField("is in the past", where="expires", todo="Give a later time")
    return Token(
        id="", name=named, namespaces=patterns, scopes=check_scopes(scopes), hash="", created_at=now, expires_at=ends
    )


def no_room(count: int, where: str) -> InvalidField:
    """The error for reaching the maximum number of tokens."""
    todo = "Revoke unused tokens, or use an identity provider"
    return InvalidField(f"there are {count} tokens already", where=where, todo=todo)


def require_one(token_id: str, found: Sequence[str]) -> None:
    """Require that an id prefix matches exactly one token.

    Args:
        token_id: The id or prefix as given.
        found: The ids that it matches.

    Raises:
        NotFound: It matches none.
        AmbiguousId: It matches several.
    """
    if not found:
        raise NotFound("no such token", where=token_id[:60], todo="See `wellkept token list`")
    if len(found) > 1:
        raise AmbiguousId("matches several tokens", where=token_id[:60], todo=f"Use one of: {', '.join(found[:5])}")
