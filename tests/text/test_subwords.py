import copy
import os
import pickle
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import tokenizer_folders
from labelgrove.core.errors import InputError, NotFittedError
from labelgrove.core.features import TokenSequences
from labelgrove.text import FEATURIZERS, Specials, Subwords, load_tokenizer, specials_of

TEXTS = [
    "Suns shine over the gardens.",
    "",
    " \n\t",
    "東京 Größe 👩‍🚀 e\u0301a",
    "a\x00b",
    "x" * 300,
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("tokenizers")
    return {
        "bert": tokenizer_folders.minilm(),
        "xlnet": tokenizer_folders.xlnet(root / "xlnet"),
        "sentencepiece": tokenizer_folders.sentencepiece_xlnet(root / "sentencepiece"),
        "roberta": tokenizer_folders.roberta(root / "roberta"),
    }


@pytest.fixture(scope="module")
def fitted(folders):
    return {name: Subwords(tokenizer=str(folder)).fit([]) for name, folder in folders.items()}


KINDS = ["bert", "xlnet", "sentencepiece", "roberta"]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_transformers_without_what_is_around_them(fitted, folders, kind):
    tokenizer = load_tokenizer(str(folders[kind]))
    X = fitted[kind].transform(iter(TEXTS))
    assert isinstance(X, TokenSequences)
    assert X.tokens.dtype == np.int32
    expected = tokenizer(TEXTS, add_special_tokens=False)["input_ids"]
    assert [X.sequence(i).tolist() for i in range(len(X))] == expected
    assert X.lengths[0] > 4
    assert X.lengths[1] == 0
    assert fitted[kind].transform([]).shape == (0, X.shape[1])


@pytest.mark.parametrize("kind", KINDS)
def test_specials_rebuild_what_transformers_gives(fitted, folders, kind):
    tokenizer = load_tokenizer(str(folders[kind]))
    specials = fitted[kind].specials
    assert specials == specials_of(tokenizer)
    for text in TEXTS:
        ids = fitted[kind].transform([text]).tokens.tolist()
        whole = tokenizer(text, return_token_type_ids=True)
        assert [*specials.before, *ids, *specials.behind] == whole["input_ids"]
        types = [*specials.before_types, *[specials.text_type] * len(ids), *specials.behind_types]
        assert types == whole["token_type_ids"]
    assert specials.n_terms == len(tokenizer)


def test_specials_of_the_architectures(fitted, folders):
    assert fitted["bert"].specials == Specials((101,), (102,), (0,), (0,), 0, 0, 30522)
    for kind in ("xlnet", "sentencepiece"):
        tokenizer = load_tokenizer(str(folders[kind]))
        behind = tuple(tokenizer.convert_tokens_to_ids(["<sep>", "<cls>"]))
        pad = tokenizer.convert_tokens_to_ids("<pad>")
        assert fitted[kind].specials[:6] == ((), behind, (), (0, 2), 0, pad)
    assert fitted["roberta"].specials[:6] == ((0,), (2,), (0,), (0,), 0, 1)


def test_tokens_added_to_a_vocabulary_need_a_row_of_the_table(folders, tmp_path):
    tokenizer = load_tokenizer(str(folders["bert"]))
    tokenizer.add_tokens(["labelgrove"])
    tokenizer.save_pretrained(tmp_path / "more")
    X = Subwords(tokenizer=str(tmp_path / "more")).fit_transform(["a labelgrove"])
    assert X.tokens.tolist() == [1037, 30522]
    assert X.shape == (1, 30523)


def test_what_looks_like_a_special_token_is_text(fitted):
    assert 102 not in fitted["bert"].transform(["[SEP] and [SEP]"]).tokens
    assert {0, 1, 2}.isdisjoint(fitted["roberta"].transform(["<s>old</s> <pad>"]).tokens.tolist())
    assert [text for text, _ in spelled(fitted["bert"], "[SEP]")] == ["[", "SEP", "]"]


def test_texts_are_read_once_by_fit_transform(folders):
    read = []

    class Once:
        def __iter__(self):
            read.append(1)
            return iter(TEXTS)

    subwords = Subwords(tokenizer=str(folders["bert"]), length=3)
    X = subwords.fit_transform(Once())
    assert read == [1]
    assert X.lengths.tolist() == [3, 0, 0, 3, 1, 1]  # of 300 x, no piece is known: [UNK]
    assert X.tokens.tolist() == subwords.transform(TEXTS).tokens.tolist()


WORD = st.text("abcsun東.,😀ü'<>", max_size=9)
SPACE = st.text(" \n\t\u00a0", min_size=1, max_size=5)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60)
@given(words=st.lists(st.tuples(WORD, SPACE), max_size=30), length=st.integers(1, 6))
def test_a_long_text_begins_as_if_it_were_read_to_its_end(fitted, kind, words, length):
    text = "".join(word + space for word, space in words)
    whole = fitted[kind].transform([text]).tokens.tolist()
    short = copy.copy(fitted[kind]).set_params(length=length)
    assert short.transform([text]).tokens.tolist() == whole[:length]
    assert [span.feature for span in short.spans(text)] == whole[:length]


def spelled(subwords, text):
    return [(text[start:end], number) for number, start, end in subwords.spans(text)]


@pytest.mark.parametrize("kind", KINDS)
def test_spans_stand_beside_the_tokens(fitted, kind):
    for text in [*TEXTS, " Über ﬁve İstanbul \ud800 suns"]:
        numbers = fitted[kind].transform([text]).tokens.tolist()
        assert [number for _, number in spelled(fitted[kind], text)] == numbers


def test_spans_are_counted_in_characters(fitted):
    text = "東京 Größe, e\u0301clair 👩‍🚀 suns"
    assert [word for word, _ in spelled(fitted["bert"], text)] == [
        *("東", "京", "Gr", "ö", "ße", ",", "e\u0301c", "lai", "r", "👩‍🚀", "suns")
    ]
    text = "the suns  \n shine"
    for kind in KINDS:
        covered = {i for _, start, end in fitted[kind].spans(text) for i in range(start, end)}
        assert covered == {i for i, character in enumerate(text) if not character.isspace()}
    assert spelled(fitted["roberta"], "é")[0][0] == spelled(fitted["roberta"], "é")[1][0] == "é"


def test_lone_surrogates_count_as_unknown_characters(fitted):
    for subwords in fitted.values():
        X = subwords.transform(["sun \ud800 shine", "sun \ufffd shine"])
        assert X.sequence(0).tolist() == X.sequence(1).tolist()


def test_a_million_words(fitted):
    X = fitted["bert"].transform(["word " * 1_000_000, "x" * 1_000_000])
    assert X.lengths.tolist() == [512, 1]


def test_saved_and_loaded_without_folder_and_transformers(folders, tmp_path):
    shutil.copytree(folders["roberta"], tmp_path / "roberta")
    subwords = Subwords(tokenizer=str(tmp_path / "roberta"), length=9).fit([])
    subwords.save(tmp_path / "saved")
    shutil.rmtree(tmp_path / "roberta")
    code = (
        "import sys; from pathlib import Path; from labelgrove.text import read; "
        f"s = read(Path({str(tmp_path / 'saved')!r})); "
        f"print(s.transform({TEXTS!r}).tokens.tolist(), s.specials.pad, s.transform(['']).shape); "
        "print('transformers' in sys.modules, 'torch' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = subwords.transform(TEXTS)
    assert found.stdout.splitlines() == [
        f"{expected.tokens.tolist()} 1 (1, {expected.shape[1]})",
        "False False",
    ]
    loaded = FEATURIZERS.read(tmp_path / "saved")
    assert loaded.specials == subwords.specials
    assert loaded.spans(TEXTS[0]) == subwords.spans(TEXTS[0])


def test_clones_and_copies(fitted):
    subwords = fitted["bert"]
    assert clone(subwords).get_params() == subwords.get_params()
    for other in (copy.deepcopy(subwords), pickle.loads(pickle.dumps(subwords))):
        assert other.transform(TEXTS).tokens.tolist() == subwords.transform(TEXTS).tokens.tolist()


def test_threads_do_not_matter_and_are_ours(folders):
    texts = [text * 40 for text in TEXTS for _ in range(400)]
    before = threading.active_count()  # tests before this one may have left some
    one, two = (
        Subwords(tokenizer=str(folders["bert"]), threads=n).fit_transform(texts) for n in (1, 2)
    )
    assert np.array_equal(one.tokens, two.tokens)
    assert np.array_equal(one.offsets, two.offsets)
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"
    assert threading.active_count() <= before


def test_forking_afterwards_warns_of_nothing(fitted, tmp_path):
    fitted["bert"].save(tmp_path / "saved")
    code = (
        "import os; from labelgrove.text import Subwords; "
        f"s = Subwords.load({str(tmp_path / 'saved')!r}); s.transform(['sun'] * 99); "
        "child = os.fork(); n = len(s.transform(['sun moon'] * 99).tokens); "
        "child and os.waitpid(child, 0); print(n)"
    )
    environ = {k: v for k, v in os.environ.items() if k != "TOKENIZERS_PARALLELISM"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=120)
    assert found.stdout.split() == ["198", "198"]
    assert found.stderr == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "tokenizer is empty: give a folder"),
        ({"tokenizer": "x", "length": 0}, "length must be a whole number from 1, got 0"),
        ({"tokenizer": 3}, "tokenizer must be a string, got 3"),
        ({"tokenizer": "x", "threads": 0}, "threads must be a whole number from 1, or None"),
    ],
)
def test_refused_settings(settings, message):
    with pytest.raises(InputError, match=message):
        FEATURIZERS.create("subwords", **settings)
    with pytest.raises(InputError, match=message):
        Subwords(**settings).fit([])


def test_refused_places(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "tokenizer.json").write_text("{")
    places = {
        str(tmp_path / "nothing"): "no such folder: .*nothing$",
        "./nothing": r"no such folder: \./nothing$",
        "a/b/c": "no such folder: a/b/c$",
        str(tmp_path / "file"): "is a file; give the folder it is in",
        str(tmp_path / "empty"): "empty holds no tokenizer that transformers can load",
        str(tmp_path / "broken"): "broken holds no tokenizer that transformers can load",
    }
    for place, message in places.items():
        with pytest.raises(InputError, match=message) as caught:
            Subwords(tokenizer=place).fit([])
        assert "\n" not in str(caught.value)


def test_a_tokenizer_in_python_only_is_refused(tmp_path):
    from transformers import CanineTokenizer

    CanineTokenizer().save_pretrained(tmp_path / "canine")
    with pytest.raises(InputError, match=r"CanineTokenizer, is written in Python only"):
        Subwords(tokenizer=str(tmp_path / "canine")).fit([])


def test_names_on_the_hub_without_internet(folders, tmp_path):
    cached = tmp_path / "hub" / "models--some--bert"
    shutil.copytree(folders["roberta"], cached / "snapshots" / ("0" * 40))
    (cached / "snapshots" / ("0" * 40) / "config.json").write_text('{"model_type": "roberta"}')
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("0" * 40)
    code = (
        "from labelgrove.text import Subwords\n"
        "from labelgrove.core.errors import InputError\n"
        "print(Subwords(tokenizer='some/bert').fit([]).specials.pad)\n"
        "try: Subwords(tokenizer='nobody/nothing').fit([])\n"
        "except InputError as error: print(error)"
    )
    environ = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=True
    )
    pad, message = found.stdout.splitlines()
    assert pad == "1"
    assert message.startswith("no tokenizer 'nobody/nothing'")
    assert "HF_HUB_OFFLINE is set: unset it, or run 'hf download nobody/nothing'" in message


def test_not_fitted():
    with pytest.raises(NotFittedError, match="subwords has not learned yet"):
        Subwords(tokenizer="x").transform(["sun"])
    with pytest.raises(NotFittedError, match="subwords has not learned yet"):
        _ = Subwords(tokenizer="x").specials
