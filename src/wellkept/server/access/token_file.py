"""The token file: the grants of all tokens. It is next to the store file and contains no secret.

Only the SHA-256 of a secret is stored. A slow hash protects passwords chosen by people; these secrets are 256
random bits, which cannot be found by brute force. The file has mode 0600 and is replaced atomically, so that a
reader sees either the old list or the new one. A running server checks the file's size and times on each request
and reads it again after a change, so a revoked token is rejected at once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from wellkept.engine.base.context import Clock, utc_now
from wellkept.engine.base.file_lock import lock
from wellkept.engine.base.inputs import moment
from wellkept.engine.base.secrets import new_secret
from wellkept.errors import ConfigError, InvalidField, StorePathError
from wellkept.parsing import parsed_json
from wellkept.server.access.grants import Grant, check_pattern, check_scopes
from wellkept.server.access.token_record import ID_LENGTH, MAX_SECRET, Token, checked_token, no_room, require_one

MAX_TOKENS = 1_000
"""Upper bound, because each request is compared with all tokens; larger installations need an identity provider."""
_FORMAT = 1
_MODE = 0o600
_HASH = re.compile("[0-9a-f]{64}")

_Stamp: TypeAlias = tuple[int, int, int]
_Rows: TypeAlias = list[Token]


class Tokens:
    """The tokens of a store in a file next to it; see `TokenKeeper`.

    Args:
        path: The token file; created by the first `create`.
        clock: The clock, for tests.
        new_secret: Generates secrets, for tests.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     tokens = Tokens(Path(folder, "agent.db.tokens"))
        ...     token_id, secret = tokens.create(name="ci", namespaces=["acme/*"], scopes=["write"])
        ...     grant = tokens.grant_of(secret)
        ...     tokens.revoke(token_id).state(utc_now()), tokens.grant_of(secret)
        ('revoked', None)
        >>> grant.actor, grant.namespaces
        ('ci', ('acme/*',))
    """

    def __init__(
        self, path: str | os.PathLike[str], *, clock: Clock = utc_now, new_secret: Callable[[], str] = new_secret
    ) -> None:
        self._path = Path(path)
        self._clock = clock
        self._new_secret = new_secret
        self._lock = threading.Lock()
        self._read: tuple[_Stamp | None, tuple[Token, ...]] = (None, ())
        self._seen = False

    @property
    def path(self) -> Path:
        """The token file."""
        return self._path

    def create(
        self, *, name: str, namespaces: Sequence[str], scopes: Iterable[str], expires_at: datetime | None = None
    ) -> tuple[str, str]:
        """See `TokenKeeper.create`."""
        now = self._clock()
        new = checked_token(name, namespaces, scopes, expires_at, now=now)
        with self._changing() as kept:
            if len(kept) >= MAX_TOKENS:
                _make_room(kept, now, self._path)
            secret = self._new_secret()
            digest = _digest(secret)
            token = replace(new, id=digest[:ID_LENGTH], hash=digest)
            if any(other.id == token.id for other in kept):
                raise InvalidField("already exists", where="secret", todo="Repeat the command")
            kept.append(token)
        return token.id, secret

    def list(self) -> tuple[Token, ...]:
        """See `TokenKeeper.list`."""
        return self._current()

    def revoke(self, token_id: str) -> Token:
        """See `TokenKeeper.revoke`."""
        with self._changing() as kept:
            found = [place for place, token in enumerate(kept) if token_id and token.id.startswith(token_id)]
            require_one(token_id, [kept[place].id for place in found])
            [place] = found
            if kept[place].revoked_at is None:
                kept[place] = replace(kept[place], revoked_at=self._clock())
            return kept[place]

    def grant_of(self, secret: str) -> Grant | None:
        """See `TokenKeeper.grant_of`."""
        now = self._clock()
        given = _digest(secret) if len(secret) <= MAX_SECRET else ""
        found: Token | None = None
        # Compare all tokens completely, so that the duration discloses nothing about the secret.
        for token in self._current():
            if hmac.compare_digest(token.hash, given) and token.state(now) == "active":
                found = token
        if found is None:
            return None
        return Grant(actor=found.name, namespaces=found.namespaces, scopes=frozenset(found.scopes))

    @property
    def required(self) -> bool:
        """See `TokenKeeper.required`. When the file disappears while the server runs, tokens stay required."""
        self._current()
        return self._seen

    @property
    def usable(self) -> bool:
        """See `TokenKeeper.usable`."""
        now = self._clock()
        return any(token.state(now) == "active" for token in self._current())

    # -- the file ---------------------------------------------------------------------------

    def _current(self) -> tuple[Token, ...]:
        stamp = _stamp(self._path)
        with self._lock:
            if stamp is None:
                self._read = (None, ())
            elif stamp != self._read[0]:
                self._seen = True  # before reading: a damaged list must not give access
                self._read = (None, ())
                self._read = (stamp, _tokens_in(self._path))
            return self._read[1]

    @contextmanager
    def _changing(self) -> Iterator[_Rows]:
        """Yield the list for changes; it is written at the end unless an error occurs, one writer at a time."""
        with _locked(self._path):
            kept = list(_tokens_in(self._path) if self._path.exists() else ())
            before = list(kept)
            yield kept
            if kept != before:
                _write(self._path, kept)


def tokens_file(store: Path) -> Path:
    """The path of a store's token file, next to the store.

    Example:
        >>> tokens_file(Path("agent.db")).name
        'agent.db.tokens'
    """
    return store.with_name(f"{store.name}.tokens")


def _make_room(kept: _Rows, now: datetime, path: Path) -> None:
    """Remove the oldest inactive token when the list is full, so that short-lived tokens need no manual cleanup."""
    for token in kept:
        if token.state(now) != "active":
            kept.remove(token)
            return
    raise no_room(len(kept), str(path))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(path, error.strerror or "it cannot be reached") from error
    return found.st_mtime_ns, found.st_size, found.st_ino


def _tokens_in(path: Path) -> tuple[Token, ...]:
    try:
        data = parsed_json(path.read_bytes())
        if data["format"] != _FORMAT:
            raise _damaged(path, f"its format is {data['format']!r}, and this release reads {_FORMAT}")
        return tuple(_token(row) for row in data["tokens"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise _damaged(path, "it is not a list of tokens") from error


def _token(row: dict[str, Any]) -> Token:
    digest = row["hash"]
    if not isinstance(digest, str) or not _HASH.fullmatch(digest) or row["id"] != digest[:ID_LENGTH]:
        raise ValueError("no hash")
    created = moment("created_at", row["created_at"])
    lists = isinstance(row["namespaces"], list) and isinstance(row["scopes"], list)
    if created is None or not lists or not row["namespaces"] or not isinstance(row["name"], str):
        raise ValueError("incomplete")
    return Token(
        id=row["id"],
        name=row["name"],
        namespaces=tuple(check_pattern(pattern) for pattern in row["namespaces"]),
        scopes=check_scopes(row["scopes"]),
        hash=digest,
        created_at=created,
        expires_at=moment("expires_at", row["expires_at"]),
        revoked_at=moment("revoked_at", row["revoked_at"]),
    )


def _damaged(path: Path, why: str) -> ConfigError:
    todo = "Restore a backup, or remove the file and create the tokens again"
    return ConfigError(f"the token file cannot be used: {why}", where=str(path), todo=todo)


def _unwritable(path: Path, error: OSError) -> StorePathError:
    what = f"the token file cannot be written: {error.strerror}"
    return StorePathError(what, where=str(path), todo="Check the folder")


def _write(path: Path, tokens: Sequence[Token]) -> None:
    rows = [asdict(token) for token in tokens]
    text = json.dumps({"format": _FORMAT, "tokens": rows}, default=datetime.isoformat, ensure_ascii=False, indent=1)
    whole = path.with_name(f".{path.name}.new")  # one writer at a time, so one name suffices
    try:
        with suppress(FileNotFoundError):
            whole.unlink()  # left by a writer that was killed
        before = _stamp(path)
        with open(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "wb") as out:
            out.write(text.encode("utf-8"))
            out.flush()
            os.fsync(out.fileno())
        # A coarse clock must not hide a change from a server that compares the times.
        made = whole.stat()
        if before is not None and made.st_mtime_ns <= before[0]:
            os.utime(whole, ns=(made.st_atime_ns, before[0] + 1_000_000))
        os.replace(whole, path)
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Exclude other writers of the file; the lock of a dead process is released by the system."""
    beside = path.with_name(f".{path.name}.lock")
    with ExitStack() as held:
        try:
            handle = os.open(beside, os.O_RDWR | os.O_CREAT, _MODE)
            held.callback(os.close, handle)
            lock(handle)
        except OSError as error:  # also a lock timeout, or a drive without locks
            raise _unwritable(path, error) from error
        yield
