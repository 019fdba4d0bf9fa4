"""Trees over documents: each node parts its documents by a sparse linear separator."""
