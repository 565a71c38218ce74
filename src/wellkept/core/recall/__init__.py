"""How memories answer a query: scores, order, groups of duplicates, and the context pack."""
