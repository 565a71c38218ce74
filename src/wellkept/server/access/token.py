"""A token, and what every place does that keeps tokens; which place that is follows from the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from wellkept.engine.base.inputs import label, moment
from wellkept.errors import AmbiguousId, InvalidField, NotFound
from wellkept.server.access.grants import Grant, Scope, check_pattern, check_scopes

MAX_SECRET = 200
ID_LENGTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as it is listed; its secret is nowhere.

    Attributes:
        id: Begins the hash.
        name: Who acts with it, for the journal. A token and its successor may share one.
        namespaces: Patterns such as `acme/*`.
        scopes: What it may do there.
        hash: SHA-256 of the secret, or in a database of a key that is made of it; in hexadecimal.
        created_at / expires_at / revoked_at: Its life; None where there is no such moment.
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
        """Whether it opens anything at a moment, and if not, why."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


class TokenKeeper(Protocol):
    """Keeps the tokens of one store; safe to use from several threads and processes.

    A change is seen by every running server at its next request.
    """

    def create(
        self, *, name: str, namespaces: Sequence[str], scopes: Iterable[str], expires_at: datetime | None = None
    ) -> tuple[str, str]:
        """Make a token; its secret is in the answer and nowhere else.

        Args:
            name: Who acts with it, for the journal.
            namespaces: Patterns of the namespaces it opens.
            scopes: `read`, `write`, `admin`; each holds those before it.
            expires_at: When it ends by itself; None for never.

        Returns:
            Its id and its secret.

        Raises:
            InvalidField: A value cannot be used; nothing was written.
            StorageError: The place cannot be written, or not by this login.
        """
        ...

    def list(self) -> tuple[Token, ...]:
        """All tokens, oldest first, with those that ended.

        Raises:
            ConfigError: A file is damaged.
            StorageError: A database does not answer.
        """
        ...

    def revoke(self, token_id: str) -> Token:
        """End a token, by its id or the beginning of it; every running server refuses it from then on.

        Raises:
            NotFound: There is none.
            AmbiguousId: The beginning fits several.
        """
        ...

    def grant_of(self, secret: str) -> Grant | None:
        """What the holder of a secret may do; None for one that is unknown, expired or revoked, all alike.

        Raises:
            ConfigError: A file is damaged; nobody is let in meanwhile.
            StorageError: A database does not answer; the same.
        """
        ...

    @property
    def required(self) -> bool:
        """Whether a request needs a token: from the first one made on, also when all have ended since."""
        ...

    @property
    def usable(self) -> bool:
        """Whether there is a token that opens anything now."""
        ...


def checked_token(
    name: str, namespaces: Sequence[str], scopes: Iterable[str], expires_at: datetime | None, *, now: datetime
) -> Token:
    """What a new token shall be, checked; whoever keeps it makes its id and its hash.

    Raises:
        InvalidField: A value cannot be used.
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
    """There are as many tokens as there may be."""
    todo = "Revoke unused tokens, or use an identity provider"
    return InvalidField(f"there are {count} tokens already", where=where, todo=todo)


def require_one(token_id: str, found: Sequence[str]) -> None:
    """Refuse the beginning of an id that is none, or that fits several.

    Args:
        token_id: As it was given.
        found: The ids it fits.

    Raises:
        NotFound: There is none.
        AmbiguousId: There are several.
    """
    if not found:
        raise NotFound("no such token", where=token_id[:60], todo="See `wellkept token list`")
    if len(found) > 1:
        raise AmbiguousId("fits several tokens", where=token_id[:60], todo=f"Use one of: {', '.join(found[:5])}")
