"""Signed taggers: what the right key signed is loaded, and nothing else."""

import hashlib
import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from command_line import called, fails
from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, InputError, LabelgroveError, SignatureError
from labelgrove.core.signing import check_signature, new_keys, sign
from labelgrove.tagger import Tagger

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def made(data):
    """A signed tagger, the keys of its maker and those of somebody else."""
    called("train", data / "train.jsonl", "--model", "most-frequent", "--out", data / "tagger")
    for name in ("maker.key", "other.key"):
        assert "keep" in called("sign", "--new-key", data / name).stdout
    called("sign", data / "tagger", "--key", data / "maker.key")
    return data


def altered(made, place, change):
    """Return a copy that was changed so that all checksums fit."""
    copy = place / "altered"
    shutil.copytree(made / "tagger", copy)
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text())
    change(copy, manifest)
    rest = {name: value for name, value in manifest.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True)
    manifest["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(manifest))
    return copy


def another_threshold(copy, manifest):
    manifest["thresholds"] = dict.fromkeys(manifest["thresholds"], 0.0)


def another_file(copy, manifest):
    file = copy / "calibration" / "y.npy"
    np.save(file, np.load(file) / 2)
    facts = manifest["files"][file.relative_to(copy).as_posix()]
    facts["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()


def test_every_command_takes_what_the_key_signed_and_nothing_else(made, tmp_path):
    tagger, test, key = made / "tagger", made / "test.jsonl", made / "maker.key.pub"
    other = made / "other.key.pub"
    asked = ("--require-signature", other)
    called("tag", tagger, "--text", "a", "--require-signature", key)
    shutil.copytree(tagger, made / "tagger.copy")
    for arguments in (
        ("tag", tagger, "--text", "a"),
        ("explain", tagger, "--text", "a"),
        ("evaluate", tagger, test),
        ("learn", tagger, test, "--out", tmp_path / "out"),
        ("retrain", tagger, test, "--out", tmp_path / "out"),
        ("combine", tagger, made / "tagger.copy", "--out", tmp_path / "out"),
        ("compare", tagger, made / "tagger.copy", "--test", test),
        ("serve", tagger, "--port", "0", "--no-feedback"),
    ):
        line = fails(*arguments, *asked, code=1)
        assert f"{tagger} is not signed by {other}" in line, arguments
        assert "get it again from its maker" in line


@pytest.mark.parametrize("change", [another_threshold, another_file])
def test_what_was_altered_with_fitting_checksums_is_refused(made, tmp_path, change):
    copy = altered(made, tmp_path, change)
    Tagger.load(copy)  # checksums do not tell
    with pytest.raises(SignatureError, match="was altered after it was signed"):
        Tagger.load(copy, require_signature=made / "maker.key.pub")


def test_a_file_altered_below_a_signed_manifest_is_refused(made, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(made / "tagger", copy)
    file = copy / "calibration" / "y.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"\x7f")
    line = fails(
        *("tag", copy, "--text", "a", "--require-signature", made / "maker.key.pub"), code=1
    )
    assert "its checksum does not fit" in line


def test_signatures_that_are_missing_or_broken(made, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(made / "tagger", copy)
    key = made / "maker.key.pub"
    for broken in (b"", b"x" * 64, (copy / "manifest.sig").read_bytes() + b"\n"):
        (copy / "manifest.sig").write_bytes(broken)
        with pytest.raises(SignatureError, match="is not signed by"):
            Tagger.load(copy, require_signature=key)
    (copy / "manifest.sig").unlink()
    with pytest.raises(SignatureError, match=r"is not signed: it has no manifest\.sig; ask"):
        Tagger.load(copy, require_signature=key)
    with pytest.raises(InputError, match="covers the checksums"):
        Tagger.load(made / "tagger", verify=False, require_signature=key)


def test_the_signed_bytes_must_say_what_was_parsed(made):
    manifest = storage.read_manifest(made / "tagger")
    check_signature(made / "tagger", manifest, made / "maker.key.pub")
    with pytest.raises(SignatureError, match="was replaced while it was read"):
        check_signature(made / "tagger", manifest | {"labels": 7}, made / "maker.key.pub")


def test_one_of_several_keys_is_enough(made, tmp_path):
    both = tmp_path / "keys.pub"
    both.write_bytes(b"".join((made / f"{n}.key.pub").read_bytes() for n in ("other", "maker")))
    assert Tagger.load(made / "tagger", require_signature=both).labels_.n_labels > 0


def test_keys_that_are_none(made, tmp_path):
    secret, junk = made / "maker.key", tmp_path / "junk"
    junk.write_bytes(b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
    junk.chmod(0o600)
    load = ("tag", made / "tagger", "--text", "a", "--require-signature")
    assert "holds a damaged public key" in fails(*load, junk)
    assert "holds no public key" in fails(*load, secret)
    assert "cannot read the key" in fails(*load, tmp_path / "none")
    assert "is no private key" in fails("sign", made / "tagger", "--key", junk)
    assert "sign --new-key FILE" in fails("sign", made / "tagger", "--key", tmp_path / "none")
    assert "exists already" in fails("sign", "--new-key", secret)
    assert "give a tagger and --key" in fails("sign", made / "tagger")


def test_only_its_owner_may_read_a_private_key(tmp_path, made):
    public = new_keys(tmp_path / "own.key")
    assert (tmp_path / "own.key").stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE" not in public.read_bytes()
    (tmp_path / "own.key").chmod(0o644)
    with pytest.raises(InputError, match="others may read the private key"):
        sign(made / "tagger", tmp_path / "own.key")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")
def test_openssl_reads_keys_and_signatures(made):
    done = subprocess.run(
        [
            *("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", made / "maker.key.pub"),
            *("-rawin", "-in", made / "tagger" / "manifest.json"),
            *("-sigfile", made / "tagger" / "manifest.sig"),
        ],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Signature Verified Successfully" in done.stdout


def test_nothing_is_written_through_a_link(made, tmp_path):
    copy, mine = tmp_path / "copy", tmp_path / "authorized_keys"
    shutil.copytree(made / "tagger", copy)
    mine.write_text("mine")
    (copy / "manifest.sig").unlink()
    (copy / "manifest.sig").symlink_to(mine)
    with pytest.raises(DamagedError, match=r"does not list: 'manifest\.sig'"):
        sign(copy, made / "maker.key")
    assert mine.read_text() == "mine"
    (copy / "manifest.sig").unlink()
    (copy / "manifest.sig").hardlink_to(mine)
    sign(copy, made / "maker.key")
    assert mine.read_text() == "mine"
    Tagger.load(copy, require_signature=made / "maker.key.pub")


@pytest.mark.parametrize("name", ["manifest.sig", "manifest.json"])
@pytest.mark.parametrize("kind", ["pipe", "huge"])
def test_a_pipe_or_forty_gigabytes_are_refused_at_once(made, tmp_path, name, kind):
    copy = tmp_path / "copy"
    shutil.copytree(made / "tagger", copy)
    (copy / name).unlink()
    if kind == "pipe":
        os.mkfifo(copy / name)
    else:
        (copy / name).touch()
        os.truncate(copy / name, 40 << 30)  # it takes no room
    with pytest.raises(LabelgroveError, match=name.replace(".", r"\.")):
        Tagger.load(copy, require_signature=made / "maker.key.pub")
    if name == "manifest.json" and kind == "huge":
        assert "at most" in called("doctor", tmp_path, check=1).stdout
