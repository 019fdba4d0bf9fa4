"""Random numbers inside kernels, from a state that their caller keeps."""

import numpy as np

from labelgrove.core.jit import njit


@njit(cache=True, nogil=True, inline="always")
def next_random(state):
    """Return the next state of a generator of 64-bit numbers (splitmix64), and a number."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    mixed = state
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, mixed ^ (mixed >> np.uint64(31))
