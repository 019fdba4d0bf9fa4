import math

import pytest

from labelgrove.core.types import Document
from labelgrove.tagger import batches


@pytest.mark.parametrize(
    ("fast", "wanted"),
    [(math.inf, [512, 1024, 2048, 4096, 4096, 224]), (0.0, [512] * 23 + [224])],
    ids=["always", "never"],
)
def test_batches_grow_while_they_are_fast(fast, wanted, monkeypatch):
    monkeypatch.setattr(batches, "FAST", fast)
    documents = [Document("text")] * 12_000
    assert [len(batch) for batch in batches.of_documents(documents)] == wanted
    assert [rows.stop - rows.start for rows in batches.of_rows(12_000)] == wanted


def test_long_documents_make_small_batches():
    long = Document("x" * batches.MOST_CHARACTERS)
    found = batches.of_documents([long, Document("y"), long, Document("z")])
    assert [len(batch) for batch in found] == [1, 2, 1]
