"""The journal, undo, and a namespace as it was at an earlier time."""
