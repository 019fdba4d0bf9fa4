import os
import pickle
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from model2vec import StaticModel
from tokenizers import Tokenizer, models, pre_tokenizers

from labelgrove.core.errors import InputError, MissingExtraError, NotFittedError
from labelgrove.core.progress import Lines
from labelgrove.core.types import Span
from labelgrove.text import FEATURIZERS, StaticEmbeddings
from labelgrove.text.static_vectors import is_static, load_static
from tokenizer_folders import minilm

WORDS = {"[UNK]": 0, "sun": 1, "moon": 2, "##s": 3, "ris": 4, "##e": 5}
VECTORS = np.array([[9, 9, 9], [3, 0, 0], [0, 2, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]], np.float32)
TEXTS = [
    "Suns rise over the gardens.", "", " \n", "sun moon sun", "東京 \ud800 👩‍🚀", "x" * 300,
    "moons " * 400,
]  # fmt: skip
FINNISH = [
    "Hallitus päättää uudesta asetuksesta kotitalouksien energiahuollosta",
    "Tutkimus selvittää oikeuskäytännön kehitystä viime vuosikymmeninä",
]
ENGLISH = ["The government decides on a new regulation about the energy supply of households"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small model, as model2vec saves it."""
    return small(tmp_path_factory.mktemp("static") / "small")


def small(folder, vectors=VECTORS, **more):
    tokenizer = Tokenizer(models.WordPiece(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    StaticModel(vectors, tokenizer, **more).save_pretrained(folder)
    return folder


def fitted(folder, **settings):
    return StaticEmbeddings(model=str(folder), **settings).fit([])


def expected(folder, texts):
    """What model2vec itself makes of texts, of length 1."""
    rows = StaticModel.from_pretrained(folder).encode(texts).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.maximum(lengths, 1e-9)


def test_rows_by_hand(folder):
    X = fitted(folder).transform(iter(["sun sun moon", "suns", "rain", ""]))
    assert X.dtype == np.float32
    six = np.array([6, 2, 0]) / np.sqrt(40)
    suns = np.array([3, 0, 1]) / np.sqrt(10)
    assert np.allclose(X, [six, suns, np.zeros(3), np.zeros(3)])


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_those_of_model2vec(folder, threads):
    texts = [text for text in TEXTS if "\ud800" not in text] * 700  # several batches
    X = fitted(folder, threads=threads).transform(texts)
    assert np.allclose(X, expected(folder, texts), atol=1e-6)
    assert set(np.linalg.norm(X, axis=1).round(5).tolist()) == {0.0, 1.0}


def test_rows_of_real_vectors_are_those_of_model2vec(shared):
    texts = [text.replace("\ud800", "") for text in TEXTS]
    potion = shared / "potion-base-8m"
    assert np.allclose(fitted(potion).transform(texts), expected(potion, texts), atol=1e-6)


@pytest.mark.parametrize("kind", ["float16", "int8"])
def test_vectors_of_less_precision_with_mapping_and_weights(kind, tmp_path):
    more = {
        "token_mapping": np.array([0, 2, 1, 3, 4, 5]),
        "weights": np.array([1, 2, 1, 0.5, 1, 1], np.float32),
    }
    folder = small(tmp_path / "some", VECTORS.astype(kind), **more)
    found = fitted(folder)
    assert found.vectors_.dtype == kind
    texts = ["suns rise", "moon sun", "rise"]
    assert np.allclose(found.transform(texts), expected(folder, texts), atol=1e-3)


def test_long_texts_are_cut(folder):
    cut = fitted(folder, length=2)  # unknown tokens count
    assert np.array_equal(
        cut.transform(["moon sun sun", "rain moon sun"]), cut.transform(["moon sun", "moon"])
    )


def test_no_texts_and_odd_texts(folder):
    assert fitted(folder).transform([]).shape == (0, 3)
    assert fitted(folder).fit_transform(TEXTS).shape == (7, 3)
    with pytest.raises(InputError, match="got one string: wrap it in"):
        fitted(folder).transform("sun")
    with pytest.raises(InputError, match="text 2"):
        fitted(folder).transform(["sun", None])


def test_texts_are_read_once_by_fit_transform(folder):
    read = []

    def once():
        read.append(1)
        yield from TEXTS * 400

    X = StaticEmbeddings(model=str(folder)).fit_transform(once())
    assert read == [1]
    assert np.array_equal(X, fitted(folder).transform(TEXTS * 400))


def test_spans(folder):
    assert fitted(folder).spans("sun  rise?") == [
        Span(1, 0, 3), Span(4, 5, 8), Span(5, 8, 9), Span(0, 9, 10)
    ]  # fmt: skip
    assert fitted(folder, length=1).spans("sun rise") == [Span(1, 0, 3)]


def test_saved_it_needs_no_folder_and_stays_on_disk(folder, tmp_path):
    own = shutil.copytree(folder, tmp_path / "own")
    part = fitted(own)
    part.save(tmp_path / "part")
    shutil.rmtree(own)
    loaded = StaticEmbeddings.load(tmp_path / "part")
    assert np.array_equal(loaded.transform(TEXTS), part.transform(TEXTS))
    assert loaded.spans("sun rise") == part.spans("sun rise")
    assert isinstance(loaded.vectors_.base, np.memmap)
    assert np.array_equal(
        pickle.loads(pickle.dumps(loaded)).transform(TEXTS), part.transform(TEXTS)
    )


def test_a_language_that_is_unknown_is_told(shared, capsys):
    potion = str(shared / "potion-base-8m")
    for texts, said in (
        (ENGLISH, False),
        ([], False),
        (FINNISH, True),
        (["政府通过了一项新规定"], True),
    ):
        part = StaticEmbeddings(model=potion)
        part.progress = Lines()
        part.fit_transform(iter(texts))
        note = capsys.readouterr().err
        assert bool(note) is said
        if said:
            assert re.match(r".* may not know the language of these texts: \d+% of their", note)
            assert note.count("\n") == 1


def test_refused_places(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"nothing")
    places = {
        "": "model is empty: give a folder with static vectors of model2vec",
        str(tmp_path / "nothing"): "no such folder: .*nothing$",
        str(tmp_path / "file"): "is a file; give the folder it is in",
        str(tmp_path / "empty"): "empty holds no static vectors that model2vec can load",
        str(damaged): "damaged holds no static vectors that model2vec can load",
        str(minilm()): "holds a transformer, not static vectors: leave out 'static:'",
    }
    for place, message in places.items():
        with pytest.raises(InputError, match=message) as caught:
            StaticEmbeddings(model=place).fit([])
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="length must be a whole number from 1"):
        FEATURIZERS.create("static", model="x", length=0)
    with pytest.raises(NotFittedError, match="static has not learned yet"):
        StaticEmbeddings(model="x").transform(["sun"])


def test_names_on_the_hub_without_internet(folder, tmp_path):
    cached = tmp_path / "hub" / "models--some--static"
    shutil.copytree(folder, cached / "snapshots" / ("0" * 40))
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("0" * 40)
    code = (
        "from labelgrove.text.static_vectors import load_static\n"
        "from labelgrove.core.errors import InputError\n"
        "print(load_static('some/static').shape)\n"
        "try: load_static('nobody/nothing')\n"
        "except InputError as error: print(error)"
    )
    environ = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=True
    )
    shape, message = found.stdout.splitlines()
    assert shape == "(6, 3)"
    assert message.startswith("no static vectors 'nobody/nothing'")
    assert "HF_HUB_OFFLINE is set: unset it, or run 'hf download nobody/nothing'" in message


def test_a_missing_library_is_told(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'labelgrove\[static\]'"):
        load_static(str(folder))


def test_what_a_folder_says_it_is(folder, shared):
    assert is_static(str(folder))
    assert is_static(str(shared / "potion-base-8m"))
    assert not is_static(str(minilm()))
    assert not is_static("nobody/nothing")
