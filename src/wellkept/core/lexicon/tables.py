"""Reads the TOML files of the lexicon; what was parsed is kept beside the bytecode of the modules.

Parsing all languages takes longer than a short command. Python keeps the bytecode of a module, checks it against time
and size of the source, and writes none where it may not: a table here is a module whose source is TOML.
"""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import CodeType
from typing import Any

_FOLDER = files(__package__)
_TABLE = "TABLE"


class _TomlLoader(SourceFileLoader):
    """Compiles a TOML file to bytecode that builds its table."""

    def source_to_code(self, data: Any, path: Any, *, _optimization: int = -1) -> CodeType:  # type: ignore[override]
        """The bytecode of a file's content."""
        import tomllib  # a short command finds all files compiled

        table = tomllib.loads(bytes(data).decode("utf-8"))
        return compile(f"{_TABLE} = {table!r}", path, "exec", dont_inherit=True, optimize=_optimization)


def raw_table(name: str, folder: Traversable = _FOLDER) -> dict[str, Any]:
    """The raw table of a TOML file of a folder, by default of the lexicon."""
    code = _TomlLoader(name, str(folder.joinpath(f"{name}.toml"))).get_code(name)
    assert code is not None  # there is always a source
    found: dict[str, Any] = {}
    exec(code, found)
    table: dict[str, Any] = found[_TABLE]
    return table


def table_names() -> list[str]:
    """The names of the files, in alphabetical order."""
    return sorted(item.name.removesuffix(".toml") for item in _FOLDER.iterdir() if item.name.endswith(".toml"))
