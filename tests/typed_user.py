"""What a user writes, in strict types; `tests/test_typed_user.py` has mypy check it."""

from collections.abc import Iterator
from typing import assert_type

from labelgrove import Document, Ranking, Run, Tag, Tagger, read_corpus
from labelgrove.corpus import Corpus
from labelgrove.labels import LabelSpace
from labelgrove.tagger import Reasons, Scores


def use() -> None:
    """Call what users call; nobody runs it."""
    texts = ["red apples and green apples", "a red car", "green cars drive"] * 4
    labels = [["fruit", "colour"], ["colour", "vehicle"], ["colour", "vehicle"]] * 4

    tagger = assert_type(Tagger("one-vs-rest").fit(texts, labels, progress=False), Tagger)
    assert_type(tagger.tag("blue apples"), list[Tag])
    assert_type(tagger.tag("blue apples", k=2, threshold="auto")[0].score, float)
    assert_type(tagger.tag(["blue apples"], threshold=0.5), list[list[Tag]])
    assert_type(tagger.tag((text for text in texts), k=3), list[list[Tag]])

    corpus = assert_type(read_corpus((texts, labels)), Corpus)
    assert_type(tagger.tag(corpus), list[list[Tag]])
    assert_type(tagger.rank(texts, k=3), Ranking)
    assert_type(tagger.evaluate(texts, labels, progress=True), Scores)
    assert_type(tagger.evaluate(corpus)["nDCG@5"], float)
    assert_type(tagger.score(texts, labels), float)
    assert_type(tagger.explain("blue apples", "fruit"), Reasons)
    assert_type(tagger.explain("blue apples", "fruit")[0].text, str)
    assert_type(tagger.stream(corpus, progress=True), Iterator[tuple[Document, list[Tag]]])
    assert_type(tagger.labels_, LabelSpace)
    assert_type(tagger.retrain(texts, labels, run=Run()), Tagger)
    tagger.save("tagger", progress=True)
    assert_type(Tagger.load("tagger"), Tagger)

    tagger.tag(3)  # type: ignore[call-overload]
    tagger.explain(texts, "fruit")  # type: ignore[arg-type]
