import subprocess
import sys

import pytest

from labelgrove import text
from labelgrove.core.errors import UnknownNameError
from labelgrove.text import FEATURIZERS, Given, StaticEmbeddings, Subwords, Tfidf, Words


def test_names_and_classes():
    assert text.names()[:4] == ["tf-idf", "words", "subwords", "given"]
    for name, found in {"tf-idf": Tfidf, "words": Words, "given": Given}.items():
        assert FEATURIZERS.find(name) is found
        assert found.name == name
        assert type(text.create(name)) is found
    assert FEATURIZERS.find("subwords") is Subwords
    assert FEATURIZERS.find("static") is StaticEmbeddings
    assert FEATURIZERS.find("encoder").name == "encoder"
    assert all(entry.summary for entry in FEATURIZERS.entries().values())


def test_unknown_names():
    with pytest.raises(UnknownNameError, match="unknown featurizer 'tfidf'; did you mean 'tf-idf'"):
        text.create("tfidf")
    with pytest.raises(UnknownNameError, match="unknown setting of 'tf-idf' 'ngram'"):
        text.create("tf-idf", ngram=2)


def test_read_whatever_a_folder_holds(tmp_path):
    Words().fit(["sun"]).save(tmp_path / "part")
    assert isinstance(text.read(tmp_path / "part"), Words)


def test_importing_is_light():
    code = "import sys, labelgrove.text; print('numba' in sys.modules, 'Stemmer' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]
