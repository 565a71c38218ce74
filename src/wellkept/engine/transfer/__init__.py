"""Import, export, audit of other stores, and migration to another backend."""
