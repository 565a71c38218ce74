"""Takes in transcripts: chooses statements, has a model extract facts, rehearses the writes, and makes rows of them."""
