"""The SQLite backend: one file, durable, no server."""

from wellkept.storage.sqlite.adapter import SqliteStorage

__all__ = ["SqliteStorage"]
