"""Signatures of saved folders: who made a folder, which checksums cannot tell.

The manifest holds a checksum of every file, so an Ed25519 signature of the manifest's bytes covers
the whole folder. It lies beside the manifest, 64 bytes, as ``openssl pkeyutl -rawin`` writes them.
Keys are PEM files, which OpenSSL reads and writes too.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from labelgrove.core import json_files, storage, system
from labelgrove.core.durability import flush
from labelgrove.core.errors import DamagedError, InputError, SignatureError
from labelgrove.core.extras import need
from labelgrove.core.manifest import MANIFEST, SIGNATURE
from labelgrove.core.regular_files import read_regular

PUBLIC = ".pub"  # what the name of a public key ends in
LARGEST_KEY = 1 << 16  # bytes; a private key has some 120
LARGEST_SIGNATURE = 1 << 10  # bytes; it has 64
_BEGIN, _END = b"-----BEGIN PUBLIC KEY-----", b"-----END PUBLIC KEY-----"

Place = str | os.PathLike[str]


def new_keys(private: Place) -> Path:
    """Make a pair of keys; return the file of the public one, ``private`` and ``.pub``.

    Only the owner may read the private key. A file that exists is never replaced.
    """
    ed25519, serialization = _library("asymmetric.ed25519"), _library("serialization")
    secret = Path(private)
    public = secret.with_name(secret.name + PUBLIC)
    key = ed25519.Ed25519PrivateKey.generate()
    pem = serialization.Encoding.PEM
    own = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    shared = serialization.PublicFormat.SubjectPublicKeyInfo
    for path in (secret, public):
        if path.exists():
            raise InputError(f"{path} exists already; choose another file for the key")
    _write_new(secret, key.private_bytes(pem, *own), 0o600)
    _write_new(public, key.public_key().public_bytes(pem, shared), 0o644)
    return public


def sign(folder: Place, private: Place) -> Path:
    """Sign a saved folder and return the file of the signature; an older one is replaced.

    The folder is checked first: checksums are compared.

    Parameters
    ----------
    folder
        A saved folder.
    private
        The file of the private key, which only its owner may read.
    """
    key = _private_key(Path(private))
    manifest = storage.read_manifest(folder)
    signed = _bytes_of(Path(folder), manifest)
    path = Path(folder, SIGNATURE)
    if path.is_symlink():  # such as in the cache of the hub, which is not ours to change
        raise DamagedError(
            f"{folder} holds what its {MANIFEST} does not list: {SIGNATURE!r} is a link. Nothing "
            "is signed; move it out of the folder"
        )
    try:
        path.unlink(missing_ok=True)  # nothing is written through a link to another file
        with path.open("xb") as file:
            file.write(key.sign(signed))
        flush(path)
        flush(path.parent)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def check_signature(folder: Path, manifest: dict[str, Any], public: Place) -> None:
    """Raise a `SignatureError` unless the manifest of a folder is signed by a key.

    Parameters
    ----------
    folder
        The folder.
    manifest
        Its manifest, as it was parsed: it must be what the signed bytes say.
    public
        The file of the public key, or of several, one of which must have signed.
    """
    invalid = need("cryptography.exceptions", "sign", "checking signatures").InvalidSignature
    keys = _public_keys(Path(public))
    path = folder / SIGNATURE
    try:
        signature = read_regular(path, LARGEST_SIGNATURE)
    except FileNotFoundError as error:
        raise SignatureError(
            f"{folder} is not signed: it has no {SIGNATURE}; ask its maker to sign it "
            "('labelgrove sign')"
        ) from error
    except OSError as error:
        raise SignatureError(f"cannot read {path}: {error.strerror or error}") from error
    signed = _bytes_of(folder, manifest)
    for key in keys:
        try:
            key.verify(signature, signed)
        except invalid:
            continue
        return
    raise SignatureError(
        f"{folder} is not signed by {public}: it was altered after it was signed, or signed with "
        "another key; get it again from its maker"
    )


def _bytes_of(folder: Path, manifest: dict[str, Any]) -> bytes:
    """Return the manifest's bytes, of which it is sure that they say what was parsed."""
    written = read_regular(folder / MANIFEST, json_files.LARGEST)
    if json.loads(written.decode("utf-8", "surrogatepass")) != manifest:
        raise SignatureError(f"{folder} was replaced while it was read: try again")
    return written


def _private_key(path: Path) -> Any:
    ed25519, serialization = _library("asymmetric.ed25519"), _library("serialization")
    written = _read_key(path, "make one by 'labelgrove sign --new-key FILE'")
    if system.HERE.has_modes and path.stat().st_mode & 0o077:
        raise InputError(f"others may read the private key {path}: chmod 600 {path}")
    try:
        key = serialization.load_pem_private_key(written, password=None)
    except TypeError as error:
        raise InputError(
            f"{path} has a passphrase, which is not asked for: 'openssl pkey -in {path}' writes "
            "the key without one"
        ) from error
    except Exception as error:  # the library has several, also of its own
        raise InputError(f"{path} is no private key in PEM form") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InputError(f"{path} is no Ed25519 key; 'labelgrove sign --new-key FILE' makes one")
    return key


def _public_keys(path: Path) -> list[Any]:
    ed25519, serialization = _library("asymmetric.ed25519"), _library("serialization")
    written = _read_key(path, "it is the .pub file that 'labelgrove sign --new-key' made")
    blocks = [_BEGIN + block.partition(_END)[0] + _END for block in written.split(_BEGIN)[1:]]
    if not blocks:
        raise InputError(f"{path} holds no public key in PEM form (-----BEGIN PUBLIC KEY-----)")
    keys = []
    for block in blocks:
        try:
            key = serialization.load_pem_public_key(block + b"\n")
        except Exception as error:  # the library has several, also of its own
            raise InputError(f"{path} holds a damaged public key") from error
        if not isinstance(key, ed25519.Ed25519PublicKey):
            raise InputError(f"{path} holds a key that is no Ed25519 key")
        keys.append(key)
    return keys


def _read_key(path: Path, way_out: str) -> bytes:
    try:
        with path.open("rb") as file:
            written = file.read(LARGEST_KEY + 1)
    except OSError as error:
        raise InputError(
            f"cannot read the key {path}: {error.strerror or error}; {way_out}"
        ) from error
    if len(written) > LARGEST_KEY:
        raise InputError(f"{path} is no file of keys: it is too large")
    return written


def _write_new(path: Path, content: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except OSError as error:
        raise InputError(f"cannot write the key {path}: {error.strerror or error}") from error


def _library(part: str) -> Any:
    return need(f"cryptography.hazmat.primitives.{part}", "sign", "signing taggers")
