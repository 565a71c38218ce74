"""Reading stored memories by id or by filter."""
