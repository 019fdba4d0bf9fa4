"""Signatures of saved folders, and the files of keys."""

import errno
import os

import pytest

from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, InputError, SignatureError
from labelgrove.core.signing import check_signature, new_keys, sign

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

PEM = serialization.Encoding.PEM
LARGEST_KEY, LARGEST_SIGNATURE = 65_536, 1_024


@pytest.fixture
def saved(tmp_path):
    with storage.writing(tmp_path / "model", {"name": "x"}) as folder:
        storage.write_values(folder, {"a": 1})
    return tmp_path / "model"


@pytest.fixture
def key(tmp_path):
    new_keys(tmp_path / "key")
    return tmp_path / "key"


def check(folder, public):
    check_signature(folder, storage.read_manifest(folder), public)


def private_pem(key, password=None):
    hidden = serialization.NoEncryption()
    if password:
        hidden = serialization.BestAvailableEncryption(password)
    return key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, hidden)


def public_pem(key):
    return key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


# --- keys ---------------------------------------------------------------------------------------


def test_the_private_key_is_for_its_owner_and_the_public_one_for_all(tmp_path):
    before = os.umask(0o022)
    try:
        public = new_keys(tmp_path / "my.key")
    finally:
        os.umask(before)
    assert public == tmp_path / "my.key.pub"
    assert public.stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "my.key").stat().st_mode & 0o777 == 0o600
    assert public.read_bytes().startswith(b"-----BEGIN PUBLIC KEY-----\n")


@pytest.mark.parametrize("name", ["key", "key.pub"])
def test_no_key_is_replaced(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=rf"{name} exists already; choose another file for the"):
        new_keys(tmp_path / "key")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_key_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(InputError, match=r"cannot write the key .*none/key: No such file"):
        new_keys(tmp_path / "none" / "key")


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601])
def test_a_private_key_that_others_may_use_is_refused(saved, key, mode):
    key.chmod(mode)
    with pytest.raises(InputError, match=f"others may read the private key {key}: chmod 600"):
        sign(saved, key)


def test_its_owner_may_do_anything_with_a_private_key(saved, key):
    key.chmod(0o700)
    sign(saved, key)


PRIVATE = {
    "has a passphrase, which is not asked for: 'openssl pkey -in": private_pem(
        ed25519.Ed25519PrivateKey.generate(), b"secret"
    ),
    "is no private key in PEM form": b"a key",
    "is no Ed25519 key; 'labelgrove sign --new-key FILE' makes one": private_pem(
        ec.generate_private_key(ec.SECP256R1())
    ),
}
PUBLIC = {
    "holds no public key in PEM form": b"a key",
    "holds a damaged public key": b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
    "holds a key that is no Ed25519 key": public_pem(ec.generate_private_key(ec.SECP256R1())),
}


@pytest.mark.parametrize("told", PRIVATE)
def test_private_keys_that_are_none(saved, tmp_path, told):
    (tmp_path / "bad").write_bytes(PRIVATE[told])
    (tmp_path / "bad").chmod(0o600)
    with pytest.raises(InputError, match=told):
        sign(saved, tmp_path / "bad")
    assert not (saved / "manifest.sig").exists()


@pytest.mark.parametrize("told", PUBLIC)
def test_public_keys_that_are_none(saved, key, tmp_path, told):
    sign(saved, key)
    good = (tmp_path / "key.pub").read_bytes() if "holds no" not in told else b""
    for content in (PUBLIC[told], good + PUBLIC[told]):
        (tmp_path / "bad.pub").write_bytes(content)
        with pytest.raises(InputError, match=told):
            check(saved, tmp_path / "bad.pub")


def test_a_key_that_is_not_there_is_told_with_the_way_out(saved, tmp_path):
    with pytest.raises(InputError, match=r"cannot read the key .*none: No such file.*--new-key F"):
        sign(saved, tmp_path / "none")
    with pytest.raises(InputError, match=r"cannot read the key .*it is the \.pub file that"):
        check(saved, tmp_path / "none")


def test_a_file_of_keys_has_a_largest_size(saved, key, tmp_path):
    sign(saved, key)
    keys = tmp_path / "keys.pub"
    content = (tmp_path / "key.pub").read_bytes()
    keys.write_bytes(content.ljust(LARGEST_KEY, b"#"))
    check(saved, keys)
    keys.write_bytes(content.ljust(LARGEST_KEY + 1, b"#"))
    with pytest.raises(InputError, match=r"keys\.pub is no file of keys: it is too large"):
        check(saved, keys)


# --- signatures ---------------------------------------------------------------------------------


def test_what_was_signed_is_accepted_also_when_it_is_signed_again(saved, key, tmp_path):
    other = new_keys(tmp_path / "other")
    assert sign(saved, tmp_path / "other") == saved / "manifest.sig"
    check(saved, other)
    with pytest.raises(SignatureError, match=r"is not signed by .*key\.pub: it was altered after"):
        check(saved, f"{key}.pub")
    sign(saved, key)
    check(saved, f"{key}.pub")
    assert (saved / "manifest.sig").stat().st_size == 64


@pytest.mark.parametrize("order", [("key", "other"), ("other", "key")])
def test_one_of_several_keys_is_enough(saved, key, tmp_path, order):
    new_keys(tmp_path / "other")
    sign(saved, key)
    both = b"of a colleague\n".join((tmp_path / f"{name}.pub").read_bytes() for name in order)
    (tmp_path / "both.pub").write_bytes(both)
    check(saved, tmp_path / "both.pub")


def test_a_folder_without_a_signature_is_refused(saved, key):
    with pytest.raises(SignatureError, match=r"is not signed: it has no manifest\.sig; ask its"):
        check(saved, f"{key}.pub")


def test_the_signed_manifest_must_be_the_one_that_was_parsed(saved, key):
    sign(saved, key)
    parsed = storage.read_manifest(saved)
    with pytest.raises(SignatureError, match="was replaced while it was read: try again"):
        check_signature(saved, parsed | {"name": "y"}, f"{key}.pub")


def test_a_signature_that_cannot_be_read_is_told(saved, key):
    parsed = storage.read_manifest(saved)
    (saved / "manifest.sig").symlink_to(saved / "manifest.sig")
    with pytest.raises(SignatureError, match=r"cannot read .*manifest\.sig: Too many levels"):
        check_signature(saved, parsed, f"{key}.pub")


def test_a_signature_has_a_largest_size(saved, key):
    signature = saved / "manifest.sig"
    signature.write_bytes(bytes(LARGEST_SIGNATURE))
    with pytest.raises(SignatureError, match="is not signed by"):
        check(saved, f"{key}.pub")
    signature.write_bytes(bytes(LARGEST_SIGNATURE + 1))
    with pytest.raises(DamagedError, match=r"1,025 bytes, and such a file has at most 1,024"):
        check(saved, f"{key}.pub")


def test_a_signature_is_on_the_disk_before_it_is_told(saved, key, monkeypatch):
    flush, flushed = os.fsync, []

    def fsync(handle):
        flushed.append(os.fstat(handle).st_ino)
        flush(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    path = sign(saved, key)
    assert flushed == [path.stat().st_ino, saved.stat().st_ino]


def test_a_signature_that_cannot_be_written_is_told(saved, key, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*manifest\.sig: No space left on device"):
        sign(saved, key)
