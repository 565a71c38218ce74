"""A reader of lists: one pass over a new text and all its candidates. An experiment; nothing of it ships."""
