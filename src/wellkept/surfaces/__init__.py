"""Surfaces: what people and programs touch. Each is thin over `MemoryStore` and holds no rule of its own."""
