import pytest
from tokenizers import Tokenizer

from labelgrove.corpus import read_corpus
from labelgrove.text.known_words import SHARE, language_note, unfamiliar_share
from labelgrove.text.tokenizing import FastTokenizer, as_bytes
from tokenizer_folders import minilm, roberta

ENGLISH = "The government adopts a new regulation on collecting data about household energy supply"


@pytest.fixture(scope="module")
def english():
    return of(minilm())


def of(folder):
    json = Tokenizer.from_file(str(folder / "tokenizer.json")).to_str()
    return FastTokenizer(as_bytes(json), "transformers")


@pytest.mark.parametrize(
    "text",
    [
        "Hallitus päättää uudesta asetuksesta kotitalouksien energiahuollosta",
        "Die Bundesregierung beschließt eine neue Verordnung über die Erhebung von Daten",
        "Le gouvernement adopte une nouvelle ordonnance sur l'approvisionnement énergétique",
        "Правительство принимает новое постановление о сборе данных",
        "政府通过了一项关于收集家庭能源供应数据的新规定",
        "정부는 가정의 에너지 공급에 관한 새로운 규정을 결정한다",
    ],
)
def test_other_languages_are_unfamiliar_to_an_english_tokenizer(english, text):
    assert unfamiliar_share(english, 100, [text]) > SHARE


def test_its_own_language_is_familiar(english):
    assert unfamiliar_share(english, 100, [ENGLISH, "", "12 34!"]) == 0
    assert unfamiliar_share(english, 100, []) == 0


@pytest.mark.parametrize("data", ["reuters", "debtags", "tibkat"])
def test_real_english_texts_are_familiar(english, shared, data):
    texts = (document.text for document in read_corpus(shared / data / "train.jsonl.xz"))
    assert language_note("model", english, 100, texts) is None


def test_words_are_cut_as_inside_a_text(tmp_path):
    """Byte pairs of a word differ at the beginning of a text, where no space is before it."""
    tokenizer = of(roberta(tmp_path / "roberta"))
    (alone,), (inside,) = tokenizer.numbers(["sleep"], 99), tokenizer.numbers([" sleep"], 99)
    assert len(alone) >= 3 > len(inside)
    assert unfamiliar_share(tokenizer, -1, ["sleep"]) == 0
