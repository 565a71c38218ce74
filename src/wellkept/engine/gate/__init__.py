"""Writing through the gate: evidence is gathered, the core decides, one transaction applies it."""
