"""What `labelgrove next` takes on a large pool: seconds of CPU, and memory beyond the tagger's.

    python benchmarks/speed/next_pool.py --pool FILE [--first 2000]

A bonsai learns from the first documents of FILE, and batches are chosen among all of them. On
finna's train.jsonl.xz, one thread, two cores of an AMD EPYC:

    522,540 documents, 50 chosen: 4.8 s, 6 MB
    522,540 documents, 1,000 chosen: 7.0 s, 70 MB
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import islice
from pathlib import Path

from labelgrove import Tagger, read_corpus
from labelgrove.tagger.choosing import choose_documents

MIB = 2**10  # ru_maxrss counts KiB


def memory() -> float:
    """Return the most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", type=Path, required=True)
    parser.add_argument("--first", type=int, default=2000)
    given = parser.parse_args()
    known = list(islice(read_corpus(given.pool), given.first))
    tagger = Tagger("bonsai", threads=1).fit([d.text for d in known], [d.labels for d in known])
    before = memory()
    for n in (50, 1000):
        started = time.process_time()
        batch = choose_documents(tagger, given.pool, n)
        seconds = time.process_time() - started
        read = f"{batch.sample.read:,} documents, {len(batch):,} chosen"
        print(f"{read}: {seconds:.1f} s, {memory() - before:.0f} MB")


if __name__ == "__main__":
    main()
