"""Neural models: a reader, a scorer, candidates and a prior, put together in one file a paper.

``readers`` turn a text into vectors, ``scorers`` turn vectors into log odds of labels,
``candidates`` decide which labels are judged, ``priors`` are log odds to start from. ``estimator``
fits, ranks, explains and saves what is made of them; ``training`` is the loop.
"""
