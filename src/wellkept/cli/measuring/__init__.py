"""Commands that measure: pairs, stories, retrieval."""
