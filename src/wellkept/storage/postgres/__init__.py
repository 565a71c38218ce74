"""The PostgreSQL backend: many processes, one server, pgvector's type for vectors."""

from wellkept.storage.postgres.adapter import PostgresStorage

__all__ = ["PostgresStorage"]
