"""Storage: the port that backends implement, and the backends."""
