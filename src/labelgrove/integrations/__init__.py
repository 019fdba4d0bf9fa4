"""Taggers in other people's systems; each module is imported only where it is asked for."""
