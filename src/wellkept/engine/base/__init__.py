"""Shared by all verbs: the context, input validation, retries, files and locks."""
