"""A store over several databases: a table says in which of them each namespace lives."""

from wellkept.storage.placement.storage import PlacedStorage

__all__ = ["PlacedStorage"]
