"""Commands for the access tokens of the server. A secret is printed once, on creation."""

from __future__ import annotations

import re
from dataclasses import MISSING
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from wellkept.cli.operating.moving_commands import shown
from wellkept.cli.terminal.groups import argument, option
from wellkept.cli.terminal.render import bare
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.config import is_server
from wellkept.errors import InvalidField, StorePathError

if TYPE_CHECKING:
    from wellkept.cli.terminal.render import Parts
    from wellkept.server.access.token_record import Token, TokenKeeper

_NEVER = "never"
_LONGEST_NAME = 100
_SPAN = re.compile(r"(\d{1,6})([mhdwy])", re.ASCII)
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}


def create(
    run: Session,
    *,
    namespace: list[str] = option(
        default=MISSING, metavar="PATTERN", help="Namespaces it opens, such as 'acme/*'; repeatable."
    ),
    name: str = option(default="", show_default="what it opens", help="Name of its user, for the journal."),
    scope: str = option(
        default="write", metavar="LIST", help="read, write or admin; each includes the ones before it."
    ),
    expires: str = option(default="90d", metavar="WHEN", help="90d, 12h, 8w, 1y, a date, or never."),
) -> None:
    """Create a token. Its secret is printed once."""
    from wellkept.engine.base.context import utc_now

    tokens = opened(run)
    named = name or ", ".join(namespace)[:_LONGEST_NAME]
    token_id, secret = tokens.create(
        name=named, namespaces=namespace, scopes=scope.split(","), expires_at=ending(expires, utc_now())
    )
    [made] = [token for token in tokens.list() if token.id == token_id]
    run.show({**_shown(made, utc_now()), "secret": secret}, lambda: [secret])
    run.note(f"Token {token_id} opens {', '.join(made.namespaces)}. Save the secret now; it is shown only once")
    if run.settings.file is not None and not run.settings.file.exists():
        run.note(f"There is no store yet at {run.settings.file}; the token is for the one that will be created there")


def list_tokens(run: Session) -> None:
    """List tokens, including expired and revoked ones. Secrets are not stored, so none is shown."""
    from wellkept.engine.base.context import utc_now

    found = opened(run).list()
    now = utc_now()
    run.show_each([_shown(token, now) for token in found], lambda: _table(found, now))


def revoke(
    run: Session,
    token: str = argument(metavar="ID", help="Its id, or the beginning of it."),
) -> None:
    """Revoke a token. A running server rejects it from the next request on."""
    from wellkept.engine.base.context import utc_now

    ended = opened(run).revoke(token)
    run.show(_shown(ended, utc_now()), lambda: [f"Token {ended.id} ({one_line(ended.name)}) is revoked"])


def opened(run: Session) -> TokenKeeper:
    """The tokens of the configured store: in its database, or in a file next to the store file.

    Raises:
        StorePathError: The store has no place for tokens.
        StorageError: The database cannot be reached.
    """
    found = kept(run)
    if found is None:
        raise StorePathError(
            "tokens are kept next to the store's file or in its database",
            where=shown(run.settings.db),
            todo="Name a file or postgresql://… with --db",
        )
    return found


def kept(run: Session) -> TokenKeeper | None:
    """Like `opened`; None for a store that cannot have tokens."""
    from wellkept.server.access.token_file import Tokens, tokens_file

    file = run.settings.file
    if file is not None:
        return Tokens(tokens_file(file))
    if not is_server(run.settings.db):
        return None
    from wellkept.cli.terminal.opening import open_database
    from wellkept.server.access.token_database import DatabaseTokens

    return DatabaseTokens(run.closing(open_database(run.settings.db)).tokens())


def ending(text: str, now: datetime) -> datetime | None:
    """The end of a time span or date; None for `never`.

    Raises:
        InvalidField: The text is neither a time span nor a date.

    Example:
        >>> from datetime import UTC
        >>> ending("2d", datetime(2026, 3, 1, tzinfo=UTC)).day, ending("never", datetime(2026, 3, 1, tzinfo=UTC))
        (3, None)
    """
    from wellkept.engine.base.inputs import moment

    asked = text.strip()
    if asked == _NEVER:
        return None
    try:
        if span := _SPAN.fullmatch(asked):
            return now + int(span[1]) * _UNITS[span[2]]
        found = moment("expires", asked)
    except (OverflowError, InvalidField) as error:
        todo = "Write 90d, 12h, 8w, 1y, a date such as 2027-01-31, or never"
        raise InvalidField(f"{asked[:40]!r} is not a valid expiry", where="expires", todo=todo) from error
    if found is None:
        raise InvalidField("is empty", where="expires", todo="Write 90d, or never")
    return found


def _shown(token: Token, now: datetime) -> dict[str, Any]:
    """The public fields of a token; its hash is omitted."""
    return {
        "id": token.id,
        "name": token.name,
        "namespaces": list(token.namespaces),
        "scopes": list(token.scopes),
        "state": token.state(now),
        "created_at": _moment(token.created_at),
        "expires_at": _moment(token.expires_at),
        "revoked_at": _moment(token.revoked_at),
    }


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


def _table(tokens: tuple[Token, ...], now: datetime) -> Parts:
    if not tokens:
        yield "No tokens yet; `wellkept token create` creates one"
        return
    rows = []
    for token in tokens:
        until = _NEVER if token.expires_at is None else f"{token.expires_at:%Y-%m-%d %H:%M}"
        opens, may = ", ".join(token.namespaces), ", ".join(token.scopes)
        rows.append((token.id, token.name, opens, may, token.state(now), until))
    yield bare(("id", "name", "opens", "may", "state", "until"), rows)
