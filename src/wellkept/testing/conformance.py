"""The conformance kit: what every storage backend must do, as checks that any backend can run.

It needs no test framework. A backend passes when every check of `CHECKS` passes on empty stores
that its factory makes; the reference and the SQLite backend run the same list in our own tests.

Example:
    >>> from wellkept.storage.memory import DictStorage
    >>> run(DictStorage).failed
    {}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from wellkept.storage.port import Storage
from wellkept.testing.checks import isolation, moving, reading, writing
from wellkept.testing.checks.world import World


@dataclass(frozen=True, slots=True)
class Check:
    """One behaviour.

    Attributes:
        name: The behaviour, as a sentence.
        test: Raises `AssertionError` when the backend behaves otherwise.
        reopens: True when it needs a store that can be closed and opened again.
    """

    name: str
    test: Callable[[World], None]
    reopens: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What became of the checks, by name."""

    passed: tuple[str, ...]
    failed: dict[str, str] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether nothing failed."""
        return not self.failed


def _checks(*modules: object) -> tuple[Check, ...]:
    found = []
    for module in modules:
        for test in module.CHECKS:  # type: ignore[attr-defined]
            name = test.__name__.replace("_", " ")
            found.append(Check(name, test, reopens="reopen" in name))
    return tuple(found)


CHECKS: tuple[Check, ...] = _checks(reading, writing, isolation, moving)
"""Every check, for a test runner to spread over its own cases."""


def run_one(check: Check, make: Callable[[], Storage], reopen: Callable[[Storage], Storage] | None = None) -> None:
    """Run one check on a new store; raises `AssertionError` when the backend fails it."""
    world = World(make(), reopen)
    try:
        check.test(world)
    finally:
        world.store.close()


def run(make: Callable[[], Storage], reopen: Callable[[Storage], Storage] | None = None) -> Report:
    """Run every check.

    Args:
        make: Gives a new, empty store.
        reopen: Closes the store and opens the same one again; None where nothing outlives it.

    Returns:
        Which checks passed, which failed and how, which could not be asked.
    """
    passed: list[str] = []
    failed: dict[str, str] = {}
    skipped: list[str] = []
    for check in CHECKS:
        if check.reopens and reopen is None:
            skipped.append(check.name)
            continue
        try:
            run_one(check, make, reopen)
        except Exception as error:  # noqa: BLE001 - whatever a backend raises here is its failure
            failed[check.name] = f"{type(error).__name__}: {error}"
        else:
            passed.append(check.name)
    return Report(tuple(passed), failed, tuple(skipped))
