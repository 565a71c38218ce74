"""The conformance kit: required behaviour of storage backends, as checks that any backend can run.

It needs no test framework. A backend conforms when every check of `CHECKS` passes on empty stores from its factory; the
reference and the SQLite backend run the same list in our own tests.

Example:
    >>> from wellkept.storage.memory import DictStorage
    >>> run(DictStorage).failed
    {}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from wellkept.frozen import frozen
from wellkept.storage.port import Storage
from wellkept.testing.checks import isolation, moving, questions, reading, writing
from wellkept.testing.checks.world import World


@frozen
class Check:
    """One required behaviour.

    Attributes:
        name: The behaviour, as a sentence.
        test: Raises `AssertionError` if the backend behaves otherwise.
        reopens: True if it needs a store that can be closed and reopened.
    """

    name: str
    test: Callable[[World], None]
    reopens: bool = False


@frozen
class Report:
    """Results of the checks, by name."""

    passed: tuple[str, ...]
    failed: dict[str, str] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether no check failed."""
        return not self.failed


def _checks(*modules: object) -> tuple[Check, ...]:
    found = []
    for module in modules:
        for test in module.CHECKS:  # type: ignore[attr-defined]
            name = test.__name__.replace("_", " ")
            found.append(Check(name, test, reopens="reopen" in name))
    return tuple(found)


CHECKS: tuple[Check, ...] = _checks(reading, writing, isolation, moving, questions)
"""All checks, to be used as test cases of a test runner."""


def run_one(check: Check, make: Callable[[], Storage], reopen: Callable[[Storage], Storage] | None = None) -> None:
    """Run one check on a new store; raises `AssertionError` on failure."""
    world = World(make(), reopen)
    try:
        check.test(world)
    finally:
        world.store.close()


def run(make: Callable[[], Storage], reopen: Callable[[Storage], Storage] | None = None) -> Report:
    """Run all checks.

    Args:
        make: Returns a new, empty store.
        reopen: Closes a store and opens it again; None if it does not persist.

    Returns:
        Passed checks, failed checks with errors, and skipped checks.
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
        except Exception as error:  # noqa: BLE001 - any error of a backend is a failure
            failed[check.name] = f"{type(error).__name__}: {error}"
        else:
            passed.append(check.name)
    return Report(tuple(passed), failed, tuple(skipped))
