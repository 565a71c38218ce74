"""`MemoryStore` and its verbs: sync, async, batches, the loop around an agent, operating."""
