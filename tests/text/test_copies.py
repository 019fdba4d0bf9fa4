import numpy as np

from labelgrove.text.copies import BLANK, are_among, distinct_hashes, text_hash


def test_case_and_white_space_and_composition_do_not_count_but_words_do():
    assert text_hash("Straße  nach\nKöln ") == text_hash("STRASSE nach Ko\u0308ln")
    assert text_hash("Solar panels") != text_hash("Solar panel")
    assert text_hash("\n \t") == BLANK != text_hash(".")


def test_texts_are_looked_up_by_sorted_hashes_and_blank_ones_never_found():
    known = distinct_hashes(map(text_hash, ["b", "a", "B", "", "c"]))
    assert len(known) == 3
    assert (np.diff(known.astype(object)) > 0).all()
    asked = np.array([text_hash(text) for text in ("a", "d", "", "C")], np.uint64)
    assert are_among(asked, known).tolist() == [True, False, False, True]
    assert not are_among(asked, known[:0]).any()
