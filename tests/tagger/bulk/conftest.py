import json

import pytest

from labelgrove.models.contract import known_answer
from labelgrove.tagger import Tagger


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved tagger."""
    folder = tmp_path_factory.mktemp("saved") / "tagger"
    Tagger("most-frequent", validation=0).fit(*known_answer(60)).save(folder)
    return folder


@pytest.fixture
def inputs(tmp_path):
    """Three files of different numbers of documents."""
    paths = []
    for number, documents in enumerate([5, 3, 4]):
        path = tmp_path / f"documents-{number}.jsonl"
        rows = [json.dumps({"text": f"topic{i}a", "id": f"{number}-{i}"}) for i in range(documents)]
        path.write_text("\n".join(rows) + "\n")
        paths.append(str(path))
    return paths
