"""Linear models: one-vs-rest and label trees, on one solver for many labels at once."""
