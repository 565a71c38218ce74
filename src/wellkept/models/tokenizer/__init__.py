"""How a text is cut into the pieces of the vocabulary, alone or as a pair."""
