"""Policy replay: past write decisions repeated under another policy; nothing is written."""
