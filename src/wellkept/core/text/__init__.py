"""Text forms and helpers: hashing, search terms, excerpts, titles, look-alike letters, time stamps, word diffs."""
