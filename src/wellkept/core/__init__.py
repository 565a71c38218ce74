"""The pure core: values in, values out. No clock, ids, I/O or logging; stdlib text and maths, numpy, rapidfuzz."""
