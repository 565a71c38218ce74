"""Writes that are put off, and written in order later."""
