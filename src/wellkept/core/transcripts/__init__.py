"""Transcripts: turns of conversations, and the statements in them that are worth keeping."""
