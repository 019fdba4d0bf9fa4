"""Which documents are decided is what `read_feedback` reads, however the file grows."""

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labelgrove.core.errors import EmptyCorpusError
from labelgrove.corpus import ReviewItem, read_feedback, write_review
from labelgrove.service.decisions import Decisions
from labelgrove.service.feedback import FeedbackFile
from labelgrove.service.review_queue import ReviewQueue

TEXTS = [f"document {i}" for i in range(6)]


@pytest.fixture
def index(tmp_path):
    write_review(tmp_path / "queue.jsonl", (ReviewItem(text, (), ()) for text in TEXTS))
    found = ReviewQueue(tmp_path / "queue.jsonl", 100).index()
    with found.file:
        yield found


lines = st.tuples(
    st.sampled_from([*TEXTS, "another"]), st.lists(st.sampled_from("abc"), max_size=2)
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(lines, min_size=1, max_size=3)),
        st.tuples(st.just("tear"), lines),
        st.tuples(st.just("replace"), st.lists(lines, max_size=3)),
    ),
    max_size=6,
)


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(steps)
def test_two_that_follow_agree_with_the_file(tmp_path_factory, index, steps):
    path = tmp_path_factory.mktemp("said") / "f.jsonl"
    path.write_text("")
    file, always = FeedbackFile(path), Decisions(path)
    for kind, given_lines in steps:
        if kind == "tear":
            with path.open("a") as opened:
                opened.write(written(given_lines)[:-5])
        elif kind == "replace":
            path.write_text("".join(written(each) + "\n" for each in given_lines))
        else:
            file.append([json.loads(written(each)) for each in given_lines])
        late = Decisions(path)
        expected = {}
        with suppress(EmptyCorpusError):
            expected = read_feedback(path).documents
        for decisions in (always, late):
            decisions.follow(index)
            found = {
                TEXTS[n - 1]: decisions.decision(n)["labels"]
                for n in range(1, 7)
                if decisions.decision(n)
            }
            assert found == {
                text: list(dict.fromkeys(document.labels))
                for text, document in expected.items()
                if text in TEXTS
            }
            assert decisions.count == len(found)
            open_ones = [n for n in range(1, 7) if TEXTS[n - 1] not in found]
            for start in range(1, 8):
                behind = [n for n in open_ones if n >= start]
                assert decisions.next_open(start) == (behind[0] if behind else 0)


def written(line):
    text, labels = line
    return json.dumps({"text": text, "labels": list(dict.fromkeys(labels))})
