"""Commands on memories: write, read, change, pack, record, queue."""
