"""The errors raised by Wellkept. Each has a description, a location and a remedy.

::

    WellkeptError
    ├── InvalidInput (ValueError)          the caller's value is invalid
    │   ├── EmptyContent                   empty or only white space
    │   ├── ContentTooLarge                longer than the policy allows
    │   ├── InvalidText                    not UTF-8, NUL or control characters, lone surrogates
    │   ├── InvalidField                   importance 7, NaN, an unknown option value
    │   ├── UnknownKind                    a kind that the policy does not define
    │   ├── SelfReference                  a memory linked to, or superseded by, itself
    │   ├── CycleError                     a supersession that would create a cycle
    │   └── IllegalTransition              a change that the memory's status does not allow
    ├── NotFound (LookupError)             no such memory, journal entry or conflict
    ├── AmbiguousId (LookupError)          a short id that matches several memories
    ├── ConflictError                      `on_conflict="raise"` met a conflict; nothing was written
    ├── UndoBlocked                        later changes prevent the undo; names them
    ├── IdempotencyMismatch                the key was used with another payload
    ├── ConfigError
    │   ├── InvalidPolicy (ValueError)     a wrong key, value or kind in a policy
    │   ├── InvalidRules (ValueError)      a wrong key or value in consolidation rules
    │   ├── InvalidPlan (ValueError)       an invalid plan file, or one of another schema, store or namespace
    │   └── FrameworkUnavailable           an agent framework that is missing, or of another version
    ├── StorageError
    │   ├── StorePathError                 a directory, a missing directory, no permission
    │   │   └── NoStore                    missing, and a reader creates none
    │   ├── NotAStore                      a file of another kind
    │   ├── Corrupt                        a truncated or damaged file
    │   ├── Busy                           another writer held the lock for too long
    │   ├── Elsewhere                      the namespace lives in another database
    │   ├── ReadOnly                       the file or its disk cannot be written
    │   ├── NotPermitted                   the token does not (or no longer) allow this
    │   ├── Full                           no space left
    │   ├── SchemaTooNew                   written by a newer release
    │   ├── EmbedderMismatch               the store's vectors come from another embedder
    │   └── UnknownBackend                 a URL scheme without a backend
    └── ModelError
        ├── ModelUnavailable               cannot be loaded or reached
        └── ModelResponseInvalid           answered with an unusable result

Errors are raised, never only logged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class WellkeptError(Exception):
    """Base of all errors raised by Wellkept.

    Args:
        what: The problem, in one sentence without a full stop.
        where: The file, line, field or id concerned; empty when there is none.
        todo: The remedy for the reader; empty when there is none.
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
    """A remedy that lists the allowed values; a probable misspelling is named first.

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
"""Characters of the given value that are compared; all allowed values are shorter."""


class InvalidInput(WellkeptError, ValueError):
    """The caller's value is invalid; nothing was written."""


class EmptyContent(InvalidInput):
    """The text is empty or only white space."""


class ContentTooLarge(InvalidInput):
    """The text is longer than the policy allows."""


class InvalidText(InvalidInput):
    """The text is not valid UTF-8, or contains NUL, control characters or lone surrogates."""


class InvalidField(InvalidInput):
    """A field has a value outside its range or its closed set."""


class UnknownKind(InvalidInput):
    """The policy does not define this kind."""


class SelfReference(InvalidInput):
    """A memory cannot be linked to or superseded by itself."""


class CycleError(InvalidInput):
    """The supersession would create a cycle."""


class IllegalTransition(InvalidInput):
    """The memory's status does not allow this change."""


class InvalidAnswer(InvalidInput):
    """The answer to a question is none of the answers, or contradicts itself; nothing was written."""


class AlreadyAnswered(IllegalTransition):
    """The question was answered before, in another way, or is no longer open; nothing was written."""


class NotFound(WellkeptError, LookupError):
    """There is no such memory, journal entry or conflict in this namespace."""


class AmbiguousId(WellkeptError, LookupError):
    """A short id matches several memories."""


class ConflictError(WellkeptError):
    """A conflict was found under `on_conflict="raise"`; nothing was written.

    Args:
        conflicts: The conflicts found, as `wellkept.types.Conflict` values.
    """

    def __init__(self, what: str, *, conflicts: Sequence[object], where: str = "", todo: str = "") -> None:
        self.conflicts = tuple(conflicts)
        super().__init__(what, where=where, todo=todo)


class UndoBlocked(WellkeptError):
    """Later changes prevent an undo.

    Args:
        entries: Numbers of the journal entries that must be undone first, newest first.
    """

    def __init__(self, what: str, *, entries: Sequence[int], where: str = "", todo: str = "") -> None:
        self.entries = tuple(entries)
        super().__init__(what, where=where, todo=todo)


class IdempotencyMismatch(WellkeptError):
    """An idempotency key was used before with another payload; nothing was written."""


class ConfigError(WellkeptError):
    """The settings are invalid."""


class InvalidPolicy(ConfigError, ValueError):
    """A policy has a wrong key, value or kind."""


class InvalidRules(ConfigError, ValueError):
    """Consolidation rules have a wrong key or value."""


class InvalidPlan(ConfigError, ValueError):
    """A plan file cannot be read, or was made for another store, namespace or schema."""


class FrameworkUnavailable(ConfigError):
    """The agent framework of an integration is not installed, or its version is not known to work."""


class StorageError(WellkeptError):
    """The store cannot be opened, read or written.

    Attributes:
        transient: Whether the transaction left no trace and a retry may succeed. Every verb retries by itself, so
            only code below the verbs sees such an error with True.
        database: Of several databases, the name of the one that failed; empty with one database.
    """

    transient: bool = False
    database: str = ""


class StorePathError(StorageError):
    """The path is a directory, lies in a missing directory, or may not be opened."""


class NoStore(StorePathError):
    """The store does not exist, and the operation creates none, because it only reads."""


class NotAStore(StorageError):
    """The file is not a Wellkept store."""


class Corrupt(StorageError):
    """The store's file is truncated or damaged."""


class Busy(StorageError):
    """Another writer held the lock for too long; the call may be repeated unchanged."""


class Elsewhere(StorageError):
    """The namespace lives in another of several databases; nothing was read or written.

    Args:
        database: The name of that database in the table of places.
    """

    def __init__(self, what: str, *, where: str = "", todo: str = "", database: str = "") -> None:
        self.database = database
        super().__init__(what, where=where, todo=todo)


class ReadOnly(StorageError):
    """The store cannot be written."""


class NotPermitted(StorageError):
    """A database with access rules received no token, or a token that does not (or no longer) allow this."""


class Full(StorageError):
    """No space is left; nothing was partly written."""


class SchemaTooNew(StorageError):
    """The store was written by a newer release."""


class EmbedderMismatch(StorageError):
    """The store's vectors come from another embedder; vectors of two embedders are never mixed."""


class UnknownBackend(StorageError):
    """No backend supports this URL; another backend is never used instead."""


class ModelError(WellkeptError):
    """A model failed."""


class ModelUnavailable(ModelError):
    """The model cannot be loaded or reached.

    Attributes:
        status: The status that an endpoint refused with; 0 for none.
    """

    status: int = 0


class ModelResponseInvalid(ModelError):
    """The model's answer cannot be used."""
