"""Which systems stand beside Wellkept, and which of them are installed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from benchmarks.beside import keep_all, with_houkai, with_mcp_memory, with_mem0, with_memvara, with_yantrikdb
from benchmarks.beside.system import Opening


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table: the package it needs (none for the baseline), how its store is opened, and with what."""

    name: str
    package: str
    opening: Opening
    note: str = ""

    @property
    def version(self) -> str | None:
        """The installed version; empty for the baseline, None if the package is missing."""
        try:
            return version(self.package) if self.package else ""
        except PackageNotFoundError:
            return None

    @property
    def title(self) -> str:
        """Name, version and setting."""
        name = " ".join(part for part in (self.package or self.name, self.version) if part)
        return f"{name}, {self.note}" if self.note else name


SYSTEMS = (
    Entry("keep-all", "", keep_all.open_keep_all, "plain cosine"),
    Entry("mem0", "mem0ai", with_mem0.open_mem0, "infer=False"),
    Entry("memvara", "memvara", with_memvara.open_memvara, "consolidate() after each write"),
    Entry("yantrikdb", "yantrikdb", with_yantrikdb.open_yantrikdb, "think() after each write"),
    Entry("houkai", "ai-houkai", with_houkai.open_ignoring, "ignore"),
    Entry("houkai-supersede", "ai-houkai", with_houkai.open_superseding, "supersede"),
    Entry("mcp-memory-service", "mcp-memory-service", with_mcp_memory.open_mcp_memory),
)
"""In the order of the table."""
