"""Models behind HTTP endpoints: requests with retries, limits and a deadline."""
