"""The database server: connections, pooling, opening, row-level security, distribution over a cluster."""
