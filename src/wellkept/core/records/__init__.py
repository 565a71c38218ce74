"""Records as values: JSON, effects, lifecycle, merges of two texts, conflicts, vectors, explanations."""
