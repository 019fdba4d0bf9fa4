"""Settings: their defaults, the same as those of the command line, and keys."""

import inspect
import os
import socket
import threading

import pytest

from labelgrove.cli.serve import MEGABYTE, serve
from labelgrove.core.errors import InputError
from labelgrove.service.settings import (
    SHORTEST_KEY,
    Limits,
    Settings,
    is_loopback,
    languages_of,
    own_names,
    read_keys,
)

PLAIN = Settings((("a", "folder"),), (None,))


def test_the_command_line_has_the_defaults_of_the_settings():
    """What ``labelgrove serve --help`` says; Limits() is what others find."""
    given = {name: each.default for name, each in inspect.signature(serve).parameters.items()}
    assert Limits() == Limits(
        body=given["max_body"] * MEGABYTE,
        bodies=given["max_bodies"] * MEGABYTE,
        texts=given["max_texts"],
        length=given["max_length"],
        seconds=given["timeout"],
        waiting=given["max_waiting"],
        rate=given["rate"],
    )
    assert (PLAIN.workers, PLAIN.threads) == (given["workers"], given["threads"])
    assert (PLAIN.batch, 1000 * PLAIN.wait) == (given["batch_size"], given["batch_wait"])
    assert PLAIN.loading == given["load_timeout"]


def test_limits_that_the_documentation_names():
    assert Limits() == Limits(10**7, 2 * 10**8, 1_000, 10**6, 60.0, 10_000, None)


def test_by_default_there_is_no_more_than_this_machine():
    assert PLAIN.hosts == ("localhost", "127.0.0.1", "::1")
    assert (PLAIN.keys, PLAIN.addresses, PLAIN.supervisor, PLAIN.terminal) == ((), False, 0, False)
    assert (PLAIN.workers, PLAIN.batch, PLAIN.wait, PLAIN.log) == (1, 64, 0.0, "requests")


@pytest.mark.parametrize("name", ["body", "bodies", "texts", "length", "waiting", "rate"])
def test_limits_may_be_one(name):
    assert getattr(Limits(**{name: 1}), name) == 1
    with pytest.raises(InputError, match=f"{name}.*got -1"):
        Limits(**{name: -1})


def test_the_place_for_snapshots_is_that_of_the_tagger():
    settings = Settings((("a", "x"), ("b", "y")), (None, None), snapshots=("p", "q"))
    assert [settings.snapshot_place(name) for name in ("a", "b", "c")] == ["p", "q", ""]
    assert PLAIN.snapshot_place("a") == ""


def test_addresses_of_this_machine():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "::1", "127.9.9.9")))
    assert not any(map(is_loopback, ("example.org", "192.0.2.1", "2001:db8::1", "", "LOCALHOST.")))


def test_names_of_this_machine_are_for_others():
    assert own_names(near=True) == ()
    assert set(own_names(near=False)) == {socket.gethostname().lower(), socket.getfqdn().lower()}


def keys(folder, *lines):
    file = folder / "keys"
    file.touch(0o600)
    file.write_text("\n".join(lines), "utf-8")
    return read_keys(file)


def test_keys_of_a_file(tmp_path):
    shortest = "k" * SHORTEST_KEY
    assert SHORTEST_KEY == 16
    assert keys(tmp_path, "# ours", "", shortest, f"  {shortest}x ", shortest) == (
        shortest,
        f"{shortest}x",
    )


@pytest.mark.parametrize("bad", ["k" * 15, "ö" * 20, "k" * 10 + " " + "k" * 10])
def test_a_bad_key_is_told_with_its_line(tmp_path, bad):
    with pytest.raises(InputError, match="line 3: a key has at least 16 ASCII characters"):
        keys(tmp_path, "# ours", "k" * 20, bad)


def test_keys_may_come_through_a_pipe(tmp_path):
    """As those of a password manager; who may read it does not matter, it is read once."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o644)
    sent = threading.Thread(target=pipe.write_text, args=("a-key-of-a-password-manager\n",))
    sent.start()
    assert read_keys(pipe) == ("a-key-of-a-password-manager",)
    sent.join()


def test_a_language_for_all_taggers_or_for_one():
    taggers = [("a", "folder"), ("b", "other")]
    assert languages_of(taggers, []) == ("", "")
    assert languages_of(taggers, ["pt-BR", "b=fi"]) == ("pt-BR", "fi")
    with pytest.raises(InputError, match="'english' is no code of a language such as en"):
        languages_of(taggers, ["english"])
    with pytest.raises(InputError, match="'c'"):
        languages_of(taggers, ["c=en"])
