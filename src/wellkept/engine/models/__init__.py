"""Embedder, relation model and judge as the engine calls them: outside transactions; a failure is a value."""
