"""Storage: the port, and the backends behind it."""
