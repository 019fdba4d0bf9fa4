"""Scorers: vectors of a text become log odds of labels."""
