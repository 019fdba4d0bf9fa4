"""Cards of saved folders: known as generated, kept where a person has edited them."""

import json
import os

import pytest

from labelgrove.core import manifest, storage
from labelgrove.core.cards import LARGEST, Card, generated, parse_card, read_card
from labelgrove.core.errors import DamagedError, InputError
from labelgrove.core.manifest import CARD, check_files, foreign_files, parse_manifest, remove_listed

TOLD = {"license": "mit", "tests": [{"name": "--> a -- b <!-- \u2028 'ä'"}]}


def card_of(about, told):
    return generated(f"# {about['title']}", told)


def save(folder, title, **options):
    with storage.writing(folder, {"title": title}, card=card_of, **options) as place:
        storage.write_values(place, {"x": 1})
    return folder


def test_a_generated_card_is_known_and_remembers_what_it_was_told():
    card = generated("# A tagger\n\ntext\n\n", TOLD)
    assert parse_card(card) == Card(edited=False, told=TOLD, text=card)
    body, _, mark = card.partition("<!--")
    assert body == "# A tagger\n\ntext\n\n"
    assert mark.count("-->") == 1, "what it was told does not end the comment"


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card.replace("text", "texts"),
        lambda card: card + "\nmore\n",
        lambda card: card.partition("<!--")[0],
        lambda card: card.replace("labelgrove card 1", "labelgrove card 2"),
        lambda card: "",
    ],
)
def test_a_change_makes_it_an_edited_one(change):
    assert parse_card(change(generated("# A tagger\n\ntext", {})) or "").edited


def test_line_ends_of_another_system_are_no_edit():
    assert not parse_card(generated("# A tagger\n\ntext", TOLD).replace("\n", "\r\n")).edited


def test_what_cannot_be_read_counts_as_edited(tmp_path):
    assert read_card(tmp_path) is None
    card = tmp_path / CARD
    card.write_bytes(b"\xff\xfe")
    assert read_card(tmp_path) == Card(edited=True)
    card.write_bytes(b"x" * (LARGEST + 1))
    assert read_card(tmp_path) == Card(edited=True)
    card.unlink()
    os.mkfifo(card)
    assert read_card(tmp_path) == Card(edited=True)
    card.unlink()
    (tmp_path / "other").write_text(generated("x", {}))
    card.symlink_to(tmp_path / "other")
    assert read_card(tmp_path) == Card(edited=True), "a link may lead to any file"


# --- beside the manifest ------------------------------------------------------------------------


def test_a_card_is_no_part_of_the_checksums(tmp_path):
    folder = save(tmp_path / "x", "one")
    assert CARD not in json.loads((folder / "manifest.json").read_text())["files"]
    (folder / CARD).write_text("mine")
    assert storage.read_manifest(folder)["title"] == "one"
    (folder / CARD).unlink()
    assert storage.read_manifest(folder)["title"] == "one", "older folders have none"


def test_a_card_that_is_a_link_or_a_folder(tmp_path):
    folder = save(tmp_path / "x", "one")
    listed = parse_manifest(folder)
    (folder / CARD).rename(tmp_path / "elsewhere")
    (folder / CARD).symlink_to(tmp_path / "elsewhere")
    check_files(folder, listed)  # as in the cache of the hub
    assert foreign_files(folder, listed) == [CARD], "nothing is replaced or removed there"
    with pytest.raises(InputError, match=r"did not write: 'README\.md'"):
        save(folder, "two", overwrite=True)
    (folder / CARD).unlink()
    (folder / CARD).symlink_to(tmp_path / "nowhere")
    with pytest.raises(DamagedError, match=CARD):
        check_files(folder, listed)
    (folder / CARD).unlink()
    (folder / CARD).mkdir()
    with pytest.raises(DamagedError, match=f"'{CARD}/'"):
        check_files(folder, listed)


def test_a_linked_signature_is_read_and_not_removed(tmp_path):
    folder = save(tmp_path / "x", "one")
    (tmp_path / "signature").write_bytes(b"x" * 64)
    (folder / manifest.SIGNATURE).symlink_to(tmp_path / "signature")
    storage.read_manifest(folder)
    remove_listed(folder, parse_manifest(folder))
    assert (folder / "values.json").exists()


def test_a_card_is_removed_with_its_folder(tmp_path):
    folder = save(tmp_path / "x", "one")
    remove_listed(folder, parse_manifest(folder))
    assert not folder.exists()


# --- replacing ----------------------------------------------------------------------------------


def test_a_generated_card_is_written_again_and_keeps_what_it_was_told(tmp_path):
    folder = save(tmp_path / "x", "one")
    (folder / CARD).write_text(generated("# one", TOLD))
    save(folder, "two", overwrite=True)
    card = read_card(folder)
    assert card.text.startswith("# two\n")
    assert card.told == TOLD
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_an_edited_card_survives_replacing(tmp_path):
    folder = save(tmp_path / "x", "one")
    (folder / CARD).write_bytes(b"mine\r\n\xff")
    save(folder, "two", overwrite=True)
    assert storage.read_manifest(folder)["title"] == "two"
    assert (folder / CARD).read_bytes() == b"mine\r\n\xff"


def test_a_copy_is_whole_and_its_own(tmp_path):
    folder = save(tmp_path / "x", "one")
    (folder / manifest.SIGNATURE).write_bytes(b"x" * 64)
    (folder / "values.json").rename(tmp_path / "blob")
    (folder / "values.json").symlink_to(tmp_path / "blob")
    storage.copy_folder(folder, tmp_path / "copy")
    assert not (tmp_path / "copy" / "values.json").is_symlink()
    for name in ("values.json", "manifest.json", manifest.SIGNATURE, CARD):
        assert (tmp_path / "copy" / name).read_bytes() == (folder / name).read_bytes()
    with pytest.raises(InputError, match="exists already"):
        storage.copy_folder(folder, tmp_path / "copy")
    (tmp_path / "copy" / CARD).write_text("mine")
    storage.copy_folder(folder, tmp_path / "copy", overwrite=True)
    assert (tmp_path / "copy" / CARD).read_text() == "mine"


def test_nothing_is_left_of_a_copy_that_fails(tmp_path):
    folder = save(tmp_path / "x", "one")
    (folder / "values.json").unlink()
    with pytest.raises(storage.StorageError, match="nothing was saved"):
        storage.copy_folder(folder, tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
