"""The start of a list reader for other languages than English: multilingual-e5-small with fewer layers and pieces."""
