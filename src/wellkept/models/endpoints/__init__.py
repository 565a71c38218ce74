"""Models behind HTTP endpoints: one question, with retries, limits and a deadline."""
