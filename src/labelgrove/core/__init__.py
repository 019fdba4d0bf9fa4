"""Contracts and small parts that everything else stands on; imports nothing else of ours."""
