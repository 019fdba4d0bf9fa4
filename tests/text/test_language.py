import pytest

from labelgrove.core.errors import UnknownNameError
from labelgrove.text.language import (
    CODES,
    _identifier,
    candidate_scores,
    detect_language,
    language_shares,
)

TITLES = {
    "en": "The Old Man and the Sea|A history of the railways|Introduction to economics|Winter war|"
    "Cooking for beginners|Birds of the northern hemisphere",
    "de": "Kochbuch für Anfänger|Geschichte der Eisenbahn|Bilanzbuchhaltung|Einführung in die "
    "Volkswirtschaft|Vögel im Garten|Der kleine Prinz",
    "fr": "Histoire des chemins de fer|La cuisine pour débutants|Introduction à l'économie|"
    "Les oiseaux du jardin|La peste|Le petit prince",
    "es": "Historia del ferrocarril|Cocina para principiantes|El amor en los tiempos del cólera|"
    "Introducción a la economía|Los pájaros del jardín|Cien años de soledad",
    "fi": "Rautateiden historia|Keittokirja aloittelijoille|Johdatus kansantalouteen|"
    "Puutarhan linnut|Talvisota|Pikku prinssi",
    "sv": "Järnvägens historia|Kokbok för nybörjare|Introduktion till nationalekonomin|"
    "Trädgårdens fåglar|Vinterkriget|Den lille prinsen i trädgården",
    "ru": "История железных дорог|Кулинария для начинающих|Введение в экономику|Птицы нашего сада|"
    "Москва слезам не верит|Маленький принц",
    "ja": "鉄道の歴史|初心者のための料理|経済学入門|庭の鳥たち|冬の戦争について|星の王子さま",
}


@pytest.mark.parametrize("code", TITLES)
def test_the_language_of_short_titles_is_found(code):
    assert detect_language(TITLES[code].split("|")) == code


@pytest.mark.parametrize(
    "texts", [[], ["", "  "], ["2041", "17 / 23", "0.5"], ["ok"], ["xb-12 qwv", "kf zzt-9"]]
)
def test_texts_that_tell_nothing_have_no_language(texts):
    assert detect_language(texts) is None


def test_texts_in_two_languages_have_no_single_one_but_shares():
    texts = [title for code in ("de", "fi") for title in TITLES[code].split("|")]
    assert detect_language(texts) is None
    shares = language_shares(texts)
    assert list(shares)[:2] in (["de", "fi"], ["fi", "de"])
    assert shares["de"] + shares["fi"] > 0.85


def test_a_sequence_is_sampled_from_all_of_it_and_a_stream_from_its_beginning():
    german = TITLES["de"].split("|") * 100
    french = TITLES["fr"].split("|") * 200
    assert detect_language(german + french) == "fr"
    assert detect_language(text for text in german + french) == "de"


def test_the_order_of_texts_does_not_matter():
    texts = [title for code in ("en", "sv") for title in TITLES[code].split("|")]
    there, back = language_shares(texts), language_shares(texts[::-1])
    assert there == pytest.approx(back)


def test_candidates_are_scored_beside_all_others():
    scores = candidate_scores("Der Hund läuft über die Straße", ["fi", "de"])
    assert next(iter(scores)) == "de"
    assert set(scores) == {"de", "fi", None}
    assert sum(scores.values()) == pytest.approx(1)
    assert candidate_scores(" ", ["de"]) == {None: 1, "de": 0}
    with pytest.raises(UnknownNameError, match="'zz'"):
        candidate_scores("text", ["zz"])


def test_the_codes_are_those_of_the_library():
    assert list(CODES) == sorted(code for code in _identifier().labels if len(code) == 2)
