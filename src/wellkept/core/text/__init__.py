"""The forms of a text: hashed, searched, shown, titled; look-alike letters, time stamps, word diffs."""
