"""A larger reader of lists: the first layers of SmolLM2-135M-Instruct. An experiment; nothing of it ships."""
