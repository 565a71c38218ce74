"""Past write decisions taken again under another policy; nothing is written."""
