"""Lessons on encoders and decoders: how one network reads and another writes."""
