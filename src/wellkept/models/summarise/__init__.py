"""Summarisers that write the text of a reflection's summary; none is used unless it is asked for."""
