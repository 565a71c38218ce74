"""Examples are tests: every Python and console block of the documents, every doctest of the sources.

A fenced block marked `python` is executed; all blocks of one document share their names, in order.
A block marked `console` is executed when it holds a `$ wellkept …` line; see tests/console_blocks.py.
Page and module of an agent framework that is not installed are left out; `make test-frameworks` runs them.
The comment `<!--- skip: next -->` leaves the following block out.
"""

from __future__ import annotations

import doctest
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from sybil import Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.sybil import SybilCollection

from console_blocks import run_console_block
from memory_folder import move_into_memory
from wellkept.integrations.frameworks import FRAMEWORKS

move_into_memory()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: it is not looked through for garbage, neither while it grows nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000)  # by default a tenth of the time goes into looking for garbage


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files with slow tests first, then the documents, so that no worker is left alone with one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, item.path.suffix != ".md"))


def pytest_sessionfinish() -> None:
    """Save what a worker has covered before it ends: one that takes long to end is killed."""
    coverage = sys.modules.get("coverage")
    if coverage is not None and (measured := coverage.Coverage.current()) is not None:
        measured.save()


FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def enter_empty_folder(namespace: dict[str, Any]) -> None:
    """Run a document's examples in a folder of their own, with no settings but the defaults."""
    folder = Path(tempfile.mkdtemp(prefix="wellkept-docs-"))
    namespace["__before__"] = (Path.cwd(), dict(os.environ), folder)
    for name in [name for name in os.environ if name.startswith("WELLKEPT_")]:
        del os.environ[name]
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        os.environ[name] = str(folder)
    os.chdir(folder)


def leave_folder(namespace: dict[str, Any]) -> None:
    """Put working folder and environment back and remove what the examples wrote."""
    working_folder, environment, folder = namespace["__before__"]
    os.chdir(working_folder)
    os.environ.clear()
    os.environ.update(environment)
    shutil.rmtree(folder, ignore_errors=True)


def markdown(path: str, **which: Any) -> Sybil:
    """The executable blocks of Markdown files below `path`."""
    return Sybil(
        parsers=[
            PythonCodeBlockParser(doctest_optionflags=FLAGS),
            CodeBlockParser("console", run_console_block),
            SkipParser(),
        ],
        path=path,
        setup=enter_empty_folder,
        teardown=leave_folder,
        **which,
    )


def is_missing(distribution: str) -> bool:
    """Whether a package is not installed."""
    try:
        metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return True
    return False


MISSING = [name for name, framework in FRAMEWORKS.items() if is_missing(framework.distribution)]

docstrings = Sybil(
    parsers=[DocTestParser(FLAGS)],
    path="src",
    pattern="*.py",
    excludes=[f"wellkept/integrations/{name}.py" for name in MISSING],
    document_types={".py": PythonDocStringDocument},
    setup=enter_empty_folder,
    teardown=leave_folder,
)

pytest_collect_file = SybilCollection(
    [
        markdown(".", pattern="README.md", exclude="*/README.md"),
        markdown("docs", pattern="*.md", excludes=[f"integrations/{name}.md" for name in MISSING]),
        docstrings,
    ]
).pytest()
