"""What the tests of several commands read."""

import csv
import json

import pytest

from labelgrove.models.contract import known_answer


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    texts, labels = known_answer(300)
    rows = [json.dumps({"text": t, "labels": ls}) for t, ls in zip(texts, labels, strict=True)]
    (folder / "train.jsonl").write_text("\n".join(rows[:200]) + "\n")
    (folder / "test.jsonl").write_text("\n".join(rows[200:]) + "\n")
    with (folder / "train.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "labels"])
        writer.writerows([t, ";".join(ls)] for t, ls in zip(texts, labels, strict=True))
    return folder
