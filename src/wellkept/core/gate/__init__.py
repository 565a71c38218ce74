"""What a write becomes: evidence and policy give a decision and its effects."""
