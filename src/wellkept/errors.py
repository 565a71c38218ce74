"""Every error Wellkept raises on purpose, each saying what, where and what to do.

::

    WellkeptError
    ├── InvalidInput (ValueError)          the caller's value cannot be used
    │   ├── EmptyContent                   nothing, or nothing but white space
    │   ├── ContentTooLarge                longer than the policy allows
    │   ├── InvalidText                    not UTF-8, NUL or control characters, lone surrogates
    │   ├── InvalidField                   importance 7, NaN, an unknown option value
    │   ├── UnknownKind                    a kind the policy does not know
    │   ├── SelfReference                  a memory linked to, or superseded by, itself
    │   ├── CycleError                     a supersession that would close a circle
    │   └── IllegalTransition              a change the memory's status does not allow
    ├── NotFound (LookupError)             no such memory, journal entry or conflict
    ├── AmbiguousId (LookupError)          a short id that fits several memories
    ├── ConflictError                      `on_conflict="raise"` met a conflict; nothing was written
    ├── UndoBlocked                        later changes stand in the way; names them
    ├── IdempotencyMismatch                the same key came with another payload
    ├── ConfigError
    │   ├── InvalidPolicy (ValueError)     a wrong key, value or kind in a policy
    │   ├── InvalidRules (ValueError)      a wrong key or value in consolidation rules
    │   └── InvalidPlan (ValueError)       a plan file that is none, of another schema, store or namespace
    ├── StorageError
    │   ├── StorePathError                 a directory, a missing directory, no permission
    │   │   └── NoStore                    nothing there yet, and a reader makes nothing
    │   ├── NotAStore                      a file that is something else
    │   ├── Corrupt                        a truncated or damaged file
    │   ├── Busy                           another writer held the lock for too long
    │   ├── ReadOnly                       the file or its disk cannot be written
    │   ├── NotPermitted                   the token does not open this namespace, or no longer
    │   ├── Full                           no space left
    │   ├── SchemaTooNew                   written by a newer release
    │   ├── EmbedderMismatch               the store's vectors come from another embedder
    │   └── UnknownBackend                 a URL scheme nobody serves
    └── ModelError
        ├── ModelUnavailable               cannot be loaded or reached
        └── ModelResponseInvalid           answered with something that is no embedding

Errors are returned to the caller, never logged instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class WellkeptError(Exception):
    """Something Wellkept refuses or cannot do.

    Args:
        what: What went wrong, in one sentence without a full stop.
        where: The file, line, field or id concerned; empty when there is none.
        todo: What the reader can do about it; empty when there is nothing.
    """

    def __init__(self, what: str, *, where: str = "", todo: str = "") -> None:
        self.what = what
        self.where = where
        self.todo = todo
        parts = [f"{what} ({where})" if where else what]
        if todo:
            parts.append(todo)
        super().__init__(". ".join(part.rstrip(".") for part in parts) + ".")


def use_one_of(given: object, allowed: Iterable[str], *, words: str = "Use one of") -> str:
    """What to do about a word that is not allowed: the list of those that are, after the one that was probably meant.

    Example:
        >>> use_one_of("lessn", ["fact", "lesson"])
        "Did you mean 'lesson'? Use one of: fact, lesson"
        >>> use_one_of("recipe", ["fact", "lesson"], words="Allowed here")
        'Allowed here: fact, lesson'
    """
    import difflib

    known = list(allowed)
    spelled = {word.casefold(): word for word in known}
    near = difflib.get_close_matches(str(given).casefold()[:_LONGEST_WORD], spelled, n=1, cutoff=0.7)
    meant = f"Did you mean {spelled[near[0]]!r}? " if near else ""
    return f"{meant}{words}: {', '.join(known)}"


_LONGEST_WORD = 100
"""Characters of what was given that are compared; the words that are known are shorter."""


class InvalidInput(WellkeptError, ValueError):
    """The caller's value cannot be used; nothing was written."""


class EmptyContent(InvalidInput):
    """The text is empty or nothing but white space."""


class ContentTooLarge(InvalidInput):
    """The text is longer than the policy allows."""


class InvalidText(InvalidInput):
    """The text is not valid UTF-8 or holds NUL, control characters or lone surrogates."""


class InvalidField(InvalidInput):
    """A field has a value outside its range or its closed set."""


class UnknownKind(InvalidInput):
    """The policy knows no such kind."""


class SelfReference(InvalidInput):
    """A memory cannot be linked to, or superseded by, itself."""


class CycleError(InvalidInput):
    """The supersession would close a circle."""


class IllegalTransition(InvalidInput):
    """The memory's status does not allow this change."""


class NotFound(WellkeptError, LookupError):
    """There is no such memory, journal entry or conflict in this namespace."""


class AmbiguousId(WellkeptError, LookupError):
    """A short id fits several memories."""


class ConflictError(WellkeptError):
    """A conflict was found under `on_conflict="raise"`; nothing was written.

    Args:
        conflicts: The conflicts that stood in the way, as `wellkept.types.Conflict` values.
    """

    def __init__(self, what: str, *, conflicts: Sequence[object], where: str = "", todo: str = "") -> None:
        self.conflicts = tuple(conflicts)
        super().__init__(what, where=where, todo=todo)


class UndoBlocked(WellkeptError):
    """Later changes stand in the way of an undo.

    Args:
        entries: Sequence numbers of the journal entries that must be taken back first, newest first.
    """

    def __init__(self, what: str, *, entries: Sequence[int], where: str = "", todo: str = "") -> None:
        self.entries = tuple(entries)
        super().__init__(what, where=where, todo=todo)


class IdempotencyMismatch(WellkeptError):
    """An idempotency key came back with another payload; nothing was written."""


class ConfigError(WellkeptError):
    """The settings cannot be used."""


class InvalidPolicy(ConfigError, ValueError):
    """A policy has a wrong key, value or kind."""


class InvalidRules(ConfigError, ValueError):
    """Consolidation rules have a wrong key or value."""


class InvalidPlan(ConfigError, ValueError):
    """A plan file cannot be read, or was made for another store, namespace or schema."""


class StorageError(WellkeptError):
    """The store cannot be opened, read or written.

    Attributes:
        transient: Whether nothing of the transaction was kept and the same may succeed a moment later. Every
            verb is then run again by itself; who sees it true has met it below the verbs.
    """

    transient: bool = False


class StorePathError(StorageError):
    """The path is a directory, lies in a missing directory, or may not be opened."""


class NoStore(StorePathError):
    """There is none yet, and whoever asked makes none: a reader leaves a place as it was."""


class NotAStore(StorageError):
    """The file is not a Wellkept store."""


class Corrupt(StorageError):
    """The store's file is truncated or damaged."""


class Busy(StorageError):
    """Another writer held the lock for too long; the call may be repeated as it is."""


class ReadOnly(StorageError):
    """The store cannot be written."""


class NotPermitted(StorageError):
    """A database with rules of access was given no token, or one that does not allow this (any more)."""


class Full(StorageError):
    """No space is left; nothing was half written."""


class SchemaTooNew(StorageError):
    """The store was written by a newer release."""


class EmbedderMismatch(StorageError):
    """The store's vectors come from another embedder; they are never mixed."""


class UnknownBackend(StorageError):
    """No backend serves this URL; never silently another one."""


class ModelError(WellkeptError):
    """A model failed."""


class ModelUnavailable(ModelError):
    """The model cannot be loaded or reached."""


class ModelResponseInvalid(ModelError):
    """The model answered with something that cannot be used."""
