import pytest

from labelgrove.core.errors import InputError
from labelgrove.text import FEATURIZERS, PlainText
from labelgrove.text.plain import text_of


def test_texts_come_back_as_they_were(tmp_path):
    texts = ["Solar\npanels", "", "日本語 \U0001f33b é", "\x00\x1b"]
    plain = PlainText().fit(texts)
    X = plain.transform(texts)
    assert [text_of(X, i) for i in range(4)] == texts
    assert X.shape[0] == 4
    plain.save(tmp_path / "plain")
    again = FEATURIZERS.read(tmp_path / "plain").transform(texts)
    assert [text_of(again, i) for i in range(4)] == texts
    assert len(plain.transform([])) == 0


def test_long_texts_are_cut_and_half_letters_replaced():
    plain = PlainText(length=4).fit([])
    X = plain.transform(["a long text", "\ud800b"])
    assert text_of(X, 0) == "a lo"
    assert text_of(X, 1) == "?b"
    assert [(each.start, each.end) for each in plain.spans("a long text")] == [
        (i, i + 1) for i in range(4)
    ]


def test_what_is_no_text_is_refused():
    with pytest.raises(InputError, match="must be a string"):
        PlainText().fit([]).transform([5])
