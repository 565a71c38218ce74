"""Commands that operate a store: import, export, move, doctor, upkeep, workers."""
