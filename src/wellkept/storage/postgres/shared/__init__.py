"""Data that several processes share in the database: jobs, tokens, queued writes, prepared vectors."""
