"""The PostgreSQL backend: many processes, one server, vectors in pgvector's type."""

from wellkept.storage.postgres.adapter import PostgresStorage

__all__ = ["PostgresStorage"]
