"""How memories answer a query: scores, order, groups of repeats, and the context pack."""
