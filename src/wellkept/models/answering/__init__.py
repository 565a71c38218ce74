"""A chat model that answers questions."""
