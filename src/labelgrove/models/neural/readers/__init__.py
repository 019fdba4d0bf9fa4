"""Readers: a text becomes a vector for each of its tokens, and one for the whole."""
