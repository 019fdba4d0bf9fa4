"""Priors: log odds that labels start from."""
