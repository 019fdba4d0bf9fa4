"""Neural models: an encoder, a label scorer and a choice of candidates, one file a paper.

What they share is in ``parts`` (what networks are made of) and ``training`` (how they learn).
"""
