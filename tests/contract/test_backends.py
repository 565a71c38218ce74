"""Every backend passes the same conformance kit (I9, design §10)."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from wellkept.storage.memory import DictStorage
from wellkept.storage.port import Storage
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.checks import reading
from wellkept.testing.conformance import CHECKS, Check, run, run_one
from wellkept.testing.faults import FaultyStorage
from wellkept.types import Header

NAMES = [check.name for check in CHECKS]


class Files:
    """Makes SQLite stores in a directory and knows where each one is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths: dict[int, Path] = {}
        self.numbers = count()

    def make(self) -> Storage:
        return self._open(self.folder / f"store-{next(self.numbers)}.db")

    def reopen(self, store: Storage) -> Storage:
        store.close()
        return self._open(self.paths[id(store)])

    def _open(self, path: Path) -> Storage:
        # Relaxed: what these checks ask does not depend on fsync, and the disk of a CI machine does.
        store = SqliteStorage(path, durability="relaxed")
        self.paths[id(store)] = path
        return store


@pytest.mark.parametrize("check", CHECKS, ids=NAMES)
def test_the_sqlite_backend_conforms(check: Check, tmp_path: Path) -> None:
    files = Files(tmp_path)
    run_one(check, files.make, files.reopen)


@pytest.mark.parametrize("check", [one for one in CHECKS if not one.reopens], ids=lambda one: one.name)
def test_the_reference_backend_conforms(check: Check) -> None:
    run_one(check, DictStorage)


def test_the_kit_names_each_behaviour_once() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 30


class Forgetful(DictStorage):
    """A broken backend: it claims to have no namespaces."""

    def header(self) -> Header:
        return replace(super().header(), namespaces=())


def test_the_kit_reports_what_fails_and_what_it_could_not_ask() -> None:
    report = run(Forgetful)
    assert not report.conforms
    assert set(report.failed) == {"entries are numbered from one without gaps", "no method sees another namespace"}
    assert report.skipped == (
        "a reopened store has kept everything",
        "what is noted is there after a store is reopened",
    )
    assert set(report.passed) | set(report.failed) | set(report.skipped) == set(NAMES)


def test_a_storage_that_never_fails_is_the_storage_itself() -> None:
    """The fault injector changes nothing until its call comes."""
    for test in reading.CHECKS:
        run_one(Check(test.__name__, test), lambda: FaultyStorage(DictStorage(), error=AssertionError("never")))
