import io
import shutil
import sys

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from labelgrove import Run, Tagger, models
from labelgrove.core.errors import InputError, MissingExtraError, NotFittedError
from labelgrove.core.progress import Lines
from labelgrove.models.contract import known_answer
from labelgrove.models.neural.examples import small_bert
from labelgrove.models.neural.readers import embeddings
from labelgrove.models.neural.readers.embeddings import EncoderEmbeddings
from labelgrove.text.encoded_texts import EncodedTexts
from tokenizer_folders import minilm

TEXTS = ["A cat sleeps on the mat.", "", " \n", "The stock market fell sharply " * 40, "a cat"]


@pytest.fixture
def bert(tmp_path):
    return small_bert(tmp_path)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The user's folder for vectors."""
    monkeypatch.setenv("LABELGROVE_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept" / "encoded"


def many(n=300):
    return known_answer(n)[0]


def counted(monkeypatch):
    """Count the texts that are really read."""
    read, encode = [], embeddings.SentenceEncoder.encode

    def counting(self, X, **settings):
        read.append(len(X))
        return encode(self, X, **settings)

    monkeypatch.setattr(embeddings.SentenceEncoder, "encode", counting)
    return read


def test_rows_are_those_of_the_published_encoder():
    """Mean of all tokens, of length 1: as the model's card computes it."""
    X = EncoderEmbeddings(model=str(minilm()), length=32, threads=1).fit_transform(iter(TEXTS))
    assert X.dtype == np.float32
    tokenizer, model = AutoTokenizer.from_pretrained(minilm()), AutoModel.from_pretrained(minilm())
    for i in (0, 3, 4):
        given = tokenizer(TEXTS[i], truncation=True, max_length=32, return_tensors="pt")
        with torch.no_grad():
            mean = model(**given).last_hidden_state[0].mean(0).numpy()
        assert np.allclose(X[i], mean / np.linalg.norm(mean), atol=1e-5)
    assert not X[1].any()
    assert not X[2].any()


def test_each_text_is_read_alike_in_any_batch(bert):
    part = EncoderEmbeddings(model=bert).fit([])
    texts = [text + " more" * (i % 40) for i, text in enumerate(many())]
    X = part.transform(texts)
    for i in (0, 64, 299):
        assert np.allclose(part.transform(texts[i : i + 1]), X[i], atol=1e-5)
    assert part.transform([]).shape == (0, 32)


def test_saved_it_needs_no_folder(bert, tmp_path):
    part = EncoderEmbeddings(model=bert, length=16).fit([])
    part.save(tmp_path / "part")
    shutil.rmtree(bert)
    loaded = EncoderEmbeddings.load(tmp_path / "part")
    assert np.array_equal(loaded.transform(many(20)), part.transform(many(20)))
    assert loaded.spans("topic1a word") == part.spans("topic1a word")
    assert loaded.fingerprint_ == part.fingerprint_
    assert not [path for path in (tmp_path / "part").rglob("*") if path.suffix in (".pkl", ".pt")]


def test_texts_are_read_once_and_copies_too(bert, monkeypatch):
    read = counted(monkeypatch)
    part = EncoderEmbeddings(model=bert)
    X = part.fit_transform(iter(many(200) * 10))
    assert sum(read) == len({*many(200)})
    assert np.array_equal(X[:200], X[1800:])


def test_vectors_are_kept_between_trainings(bert, kept, monkeypatch):
    read = counted(monkeypatch)
    X = EncoderEmbeddings(model=bert).fit_transform(many())
    assert sum(read) == 300
    again = EncoderEmbeddings(model=bert).fit_transform([*many(), "another text"])
    assert sum(read) == 301
    assert np.array_equal(again[:300], X)
    EncoderEmbeddings(model=bert, length=8).fit_transform(many())  # another length, other vectors
    assert sum(read) == 601
    assert len([*kept.glob("*.sqlite")]) == 2


def test_other_weights_are_another_model(bert):
    before = EncoderEmbeddings(model=bert).fit([]).fingerprint_
    model = AutoModel.from_pretrained(bert)
    with torch.no_grad():
        next(model.parameters())[0, 0] += 1
    model.save_pretrained(bert)
    assert EncoderEmbeddings(model=bert).fit([]).fingerprint_ != before


def test_few_texts_leave_nothing_behind(bert, kept):
    EncoderEmbeddings(model=bert).fit_transform(many(99))
    assert not kept.exists()


def test_what_was_read_before_an_interruption_is_kept(bert, kept, monkeypatch):
    keep, calls = EncodedTexts.keep, []

    def interrupted(self, keys, vectors):
        keep(self, keys, vectors)
        calls.append(len(keys))
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(embeddings, "CHUNK", 50)
    monkeypatch.setattr(EncodedTexts, "keep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        EncoderEmbeddings(model=bert).fit_transform(many())
    read = counted(monkeypatch)
    EncoderEmbeddings(model=bert).fit_transform(many())
    assert sum(read) == 300 - 64 - 50


def test_long_work_is_told_and_shown(bert, monkeypatch, capsys):
    monkeypatch.setattr(embeddings, "LONG", 0)
    part = EncoderEmbeddings(model=bert)
    part.progress = Lines(seconds=0)
    part.fit_transform(many())
    lines = capsys.readouterr().err
    assert "encoding 300 texts takes about 0 minutes: " in lines
    assert "texts a second on cpu" in lines
    assert "encoding texts: 32 documents of 300 (11%)" in lines
    assert "encoding texts: 300 documents in" in lines


def test_a_language_that_is_unknown_is_told(capsys):
    part = EncoderEmbeddings(model=str(minilm()))
    part.progress = Lines()
    part.fit(["Hallitus päättää uudesta asetuksesta kotitalouksien energiahuollosta"])
    assert "may not know the language of these texts: " in capsys.readouterr().err
    part.fit(["The government decides on a new regulation"])
    assert capsys.readouterr().err == ""


def test_what_is_no_encoder_is_refused(tmp_path, bert):
    (tmp_path / "file").write_text("")
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "config.json").write_text('{"model_type": "model2vec"}')
    places = {
        "": "model is empty: give a folder with a sentence encoder",
        str(tmp_path / "nothing"): "no such folder: .*nothing$",
        str(tmp_path / "file"): "is a file; give the folder it is in",
        str(tmp_path / "static"): "holds static vectors, no encoder: write 'static:",
    }
    for place, message in places.items():
        with pytest.raises(InputError, match=message) as caught:
            EncoderEmbeddings(model=place).fit([])
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="puts 2 tokens around"):
        EncoderEmbeddings(model=bert, length=2).fit([])
    with pytest.raises(NotFittedError, match="encoder has not learned yet"):
        EncoderEmbeddings(model=bert).transform(["sun"])


def test_a_missing_library_is_told(bert, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'labelgrove\[transformers\]'"):
        EncoderEmbeddings(model=bert).fit([])


@pytest.mark.parametrize("prefix", ["", "static:"])
def test_a_tagger_by_dense_rows_trains_saves_and_tags(prefix, tmp_path, request):
    texts, labels = known_answer(60)
    folder = (
        request.getfixturevalue("shared") / "potion-base-8m" if prefix else small_bert(tmp_path)
    )
    model = models.create("knn", by="encoder", encoder=f"{prefix}{folder}", length=32)
    tagger = Tagger(model).fit(texts, labels)
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger")
    assert loaded.tag(texts[:5], k=3) == tagger.tag(texts[:5], k=3)
    assert tagger.explain(texts[0], labels[0][0]).neighbours
    assert len(loaded.tag("", k=3)) == 3


def test_a_training_that_goes_on_finds_its_rows(bert, tmp_path, monkeypatch):
    read, said = counted(monkeypatch), io.StringIO()
    settings = {"by": "encoder", "encoder": bert, "length": 32}

    def train(folder, **more):
        run = Run(folder=folder, resume=True, progress=Lines(said))
        return Tagger(models.create("knn", **settings, **more)).fit(*known_answer(60), run=run)

    tagger = train(tmp_path / "run")
    assert sum(read) == 60
    again = train(tmp_path / "run", device="cpu")
    assert sum(read) == 60
    assert "encoder of 60 documents are there already" in said.getvalue()
    assert again.tag(many(3), k=3) == tagger.tag(many(3), k=3)
