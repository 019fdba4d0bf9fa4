"""Measures what the checks of a loaded forest cost, beside the checksums of the same files.

::

    python benchmarks/reliability/load_checks.py --megabytes 500
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from labelgrove.core import storage
from labelgrove.models.linear.forest import CHUNK, Forest
from labelgrove.models.linear.forest_tables import Tables

ROWS, PER_ROW = 20_000, 4  # of a chunk: features, and weights of each
N_FEATURES = 500_000


def made(megabytes: int) -> Forest:
    """Return one tree without levels whose arrays have about so many bytes."""
    per_chunk = ROWS * (4 + 4) + ROWS * PER_ROW * (1 + 2)
    n = max(1, megabytes * 10**6 // per_chunk)
    random = np.random.default_rng(0)
    tables = Tables(
        child_ptr=np.array([0, n * CHUNK]),
        child=random.permutation(n * CHUNK).astype(np.int32),
        bias=np.zeros(n * CHUNK, np.float32),
        chunk_ptr=np.array([0, n]),
        chunk_child=np.arange(0, n * CHUNK, CHUNK, dtype=np.int32),
        chunk_rows=np.arange(n + 1) * ROWS,
        chunk_entries=np.arange(n + 1) * ROWS * PER_ROW,
        chunk_scale=np.ones(n, np.float32),
        row_feature=np.tile(np.arange(ROWS, dtype=np.int32) * (N_FEATURES // ROWS), n),
        row_ptr=np.tile(np.arange(ROWS + 1, dtype=np.uint32) * PER_ROW, n),
        entry_label=random.integers(0, CHUNK, n * ROWS * PER_ROW, np.uint8),
        entry_value=random.integers(-9, 9, n * ROWS * PER_ROW, np.int16),
        n_features=N_FEATURES,
        dense_value=np.empty(0, np.int8),
        dense_scale=np.empty(0, np.float32),
        n_dense=0,
    )
    return Forest(np.zeros(1, np.int32), np.ones(1, np.int32), tables)


def milliseconds(work: Callable[[], object]) -> float:
    """Return the least time of three."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - began))
    return min(times)


def main() -> None:
    """Print milliseconds per 100 MB."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=500, help="size of the forest")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "forest"
        with storage.writing(folder, {}) as temporary:
            storage.write_values(temporary, made(asked.megabytes).state())
        hundreds = storage.size(folder) / 10**8
        forest = Forest.from_state(storage.read_values(folder))
        n_labels = len(forest.tables.child)
        checks = milliseconds(lambda: forest.check(n_labels)) / hundreds
        sums = milliseconds(lambda: storage.read_manifest(folder)) / hundreds
    print(f"{100 * hundreds:.0f} MB: checks {checks:.0f} ms, checksums {sums:.0f} ms per 100 MB")


if __name__ == "__main__":
    main()
