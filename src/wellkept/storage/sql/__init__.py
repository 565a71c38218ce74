"""What the backends in SQL have in common: transactions over named statements, and what `verify` looks at."""
