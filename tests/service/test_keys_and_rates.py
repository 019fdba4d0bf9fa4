import re
import stat
import time
from pathlib import Path

import pytest

from command_line import fails
from labelgrove.core.errors import InputError
from labelgrove.service.settings import read_keys
from services import bearer, serving, workers_of

FIRST, SECOND = "first-key-0123456789", "Second-Key-0123456789"


@pytest.fixture(scope="module")
def guarded(taggers, tmp_path_factory):
    place = tmp_path_factory.mktemp("keys")
    write_keys(place / "keys", f"# two of them\n{FIRST}\n\n  {SECOND}  \n")
    with serving(
        taggers / "bonsai",
        *("--api-keys", place / "keys", "--no-feedback", "--rate", "30", "--log-texts"),
    ) as found:
        yield found


def write_keys(file, content):
    file.touch(0o600)
    file.write_text(content)


def test_without_a_key_there_is_nothing_but_the_page(guarded):
    for path in ("/", "/healthz", "/openapi.json"):
        assert guarded.ask(path).status == 200
    for path in ("/v1/models", "/v1/labels", "/metrics", "/v1/unknown", "/static"):
        got = guarded.ask(path)
        assert got.status == 401
        assert got.headers["www-authenticate"] == "Bearer"
        assert "Authorization: Bearer KEY" in got.detail


@pytest.mark.parametrize(
    "header",
    [
        *("", "Bearer", "Bearer ", f"Basic {FIRST}", f"Bearer {FIRST}x", f"Bearer {FIRST[:-1]}"),
        *(FIRST, f"Bearer {FIRST.upper()}", f"Bearer {SECOND.lower()}"),
    ],
)
def test_a_key_that_is_not_one_is_refused(guarded, header):
    assert guarded.ask("/metrics", headers={"Authorization": header}).status == 401


def test_each_key_opens(guarded):
    assert guarded.ask("/v1/models", headers=bearer(SECOND)).status == 200
    assert guarded.ask("/v1/models", headers={"authorization": f"bearer  {FIRST}"}).status == 200


def test_who_asks_too_often_is_told_when_to_come_back(guarded):
    began = time.monotonic()
    answers = [guarded.ask("/v1/models", headers=bearer(SECOND)) for _ in range(80)]
    refused = [each for each in answers if each.status == 429]
    assert {each.status for each in answers} == {200, 429}
    assert len(answers) - len(refused) <= 30 + (time.monotonic() - began) / 2 + 1
    assert 1 <= int(refused[0].headers["retry-after"]) <= 2
    assert "ask again in" in refused[0].detail
    assert guarded.ask("/healthz").status == 200
    assert guarded.ask("/v1/models", headers=bearer(FIRST)).status == 200  # another client


def test_the_files_of_the_page_are_not_counted(taggers):
    with serving(taggers / "bonsai", "--no-feedback", "--rate", "30", "--quiet") as service:
        assert {service.ask("/static/main.js").status for _ in range(60)} == {200}
        assert service.ask("/v1/models").status == 200


def test_keys_are_not_tried_for_ever(taggers, tmp_path):
    write_keys(tmp_path / "keys", FIRST)
    keys = ("--api-keys", tmp_path / "keys", "--rate", "10", "--no-feedback", "--quiet")
    with serving(taggers / "bonsai", *keys) as service:
        codes = [service.ask("/v1/models", headers=bearer(f"wrong-{i}")).status for i in range(30)]
        assert {*codes} == {401, 429}
        assert service.ask("/v1/models", headers=bearer(FIRST)).status == 200


def test_texts_are_logged_where_that_is_asked_for_and_keys_never(guarded):
    sent = {"text": "a\nforged line"}
    assert guarded.ask("/v1/tag", sent, headers=bearer(FIRST)).status == 200
    guarded.ask("/metrics", headers=bearer("not-a-key-but-a-secret"))
    told = guarded.log()
    assert r"a\nforged line" in told
    assert FIRST not in told
    assert "secret" not in told


def test_without_feedback_none_is_taken(guarded):
    got = guarded.ask("/v1/feedback", {"text": "a", "labels": []}, headers=bearer(FIRST))
    assert got.status == 403
    assert guarded.ask("/v1/models", headers=bearer(FIRST)).json["models"][0]["feedback"] is False


@pytest.mark.parametrize("content", ["", "# nothing\n", "short\n", "with a space 0123456789\n"])
def test_a_file_without_good_keys_is_refused(tmp_path, content):
    file = tmp_path / "keys"
    write_keys(file, content)
    with pytest.raises(InputError, match=re.escape(str(file))):
        read_keys(file)


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o620, 0o602])
def test_a_file_of_keys_that_others_may_read_or_write_is_refused(tmp_path, mode):
    file = tmp_path / "keys"
    write_keys(file, FIRST)
    assert read_keys(file) == (FIRST,)
    file.chmod(mode)
    with pytest.raises(InputError, match="chmod 600"):
        read_keys(file)


def test_keys_do_not_stand_in_the_environment_of_workers(taggers, tmp_path):
    write_keys(tmp_path / "keys", FIRST)
    keys = ("--api-keys", tmp_path / "keys", "--workers", "2", "--no-feedback", "--quiet")
    with serving(taggers / "bonsai", *keys) as service:
        workers = workers_of(service)
        assert len(workers) == 2
        for each in (*workers, service.process.pid):
            for name in ("environ", "cmdline"):
                assert FIRST.encode() not in Path(f"/proc/{each}/{name}").read_bytes()
        assert service.ask("/v1/models", headers=bearer(FIRST)).status == 200


def test_keys_that_cannot_be_read_are_told(tmp_path, taggers):
    missing = tmp_path / "none"
    assert str(missing) in fails("serve", taggers / "bonsai", "--api-keys", missing)
    file = tmp_path / "bytes"
    file.write_bytes(b"\xff" * 30)
    file.chmod(stat.S_IRUSR)
    with pytest.raises(InputError, match="cannot be read"):
        read_keys(file)
