"""Inputs and results behind URLs: in fsspec's memory, and in a real object store."""

import gzip
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from labelgrove.core import remote_files
from labelgrove.core.errors import InputError, MissingExtraError, StorageError
from labelgrove.tagger.bulk import one_by_one, tag_files
from processes import PATIENCE

fsspec = pytest.importorskip("fsspec")
needs_store = pytest.mark.skipif(
    not all(map(find_spec, ("s3fs", "moto", "flask"))),
    reason="needs s3fs, and 'moto[s3]' with flask and flask-cors as an object store",
)


@pytest.fixture
def memory():
    """fsspec's file system in memory."""
    system = fsspec.filesystem("memory")
    yield system
    system.rm("/", recursive=True)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A real server that speaks S3, and the environment that leads to it."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    log = tmp_path_factory.mktemp("store") / "log"
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with log.open("w") as file, pytest.MonkeyPatch.context() as patch:
        server = subprocess.Popen(words, stdout=file, stderr=file)
        try:
            wait_for(address, server, log)
            for name, value in {
                "AWS_ENDPOINT_URL": address,
                "AWS_ACCESS_KEY_ID": "key",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_DEFAULT_REGION": "us-east-1",
            }.items():
                patch.setenv(name, value)
            system = fsspec.filesystem("s3")
            system.mkdir("grove")
            yield system
        finally:
            server.kill()
            server.wait()


def wait_for(address, server, log):
    ends = time.monotonic() + PATIENCE
    while True:
        assert server.poll() is None, log.read_text()
        assert time.monotonic() < ends
        try:
            urllib.request.urlopen(address).close()
        except OSError:
            time.sleep(0.05)
        else:
            return


def put(system, root, inputs):
    """Upload files, the last one compressed, and return a pattern for them."""
    for name in inputs[:-1]:
        system.put_file(name, f"{root}/in/{Path(name).name}")
    packed = gzip.compress(Path(inputs[-1]).read_bytes())
    system.pipe_file(f"{root}/in/{Path(inputs[-1]).name}.gz", packed)


def interrupted(results):
    yield from results
    raise KeyboardInterrupt


def check(system, root, url, saved, inputs, tmp_path, tag_parts):
    """Tag from URLs to a URL: what a folder would hold, and what is missing goes on."""
    put(system, root, inputs)
    tag_files(saved, inputs, tmp_path / "local")
    pattern, out = f"{url}/in/*.jsonl*", f"{url}/out"

    @contextmanager
    def first(saved_tagger, tasks, *others):
        with tag_parts(saved_tagger, tasks[:2], *others) as results:
            yield interrupted(results)

    with pytest.raises(KeyboardInterrupt):
        tag_files(saved, [pattern], out, tag_parts=first)
    before = system.info(f"{root}/out/part-00000.jsonl")
    system.pipe_file(f"{root}/out/part-00001.jsonl", b"cut short\n")
    outcome = tag_files(saved, [pattern], out, tag_parts=tag_parts)
    assert (outcome.parts, outcome.documents, outcome.problems) == (3, 12, {})
    system.invalidate_cache()
    assert system.info(f"{root}/out/part-00000.jsonl") == before
    names = sorted(Path(each).name for each in system.find(f"{root}/out"))
    assert names == [*(f"part-{i:05}.jsonl" for i in range(3)), "parts.json"]
    for name in names[:-1]:
        assert system.cat_file(f"{root}/out/{name}") == (tmp_path / "local" / name).read_bytes()
    listed = json.loads(system.cat_file(f"{root}/out/parts.json"))["parts"]
    assert listed[0]["input"] == f"{url}/in/documents-0.jsonl"
    with pytest.raises(InputError, match=r"out holds another run, with k 5 instead of 2"):
        tag_files(saved, [pattern], out, k=2, tag_parts=tag_parts)
    system.pipe_file(f"{root}/in/documents-0.jsonl", b'{"text": "new"}\n')
    with pytest.raises(InputError, match=r"documents-0.jsonl was changed after it was tagged"):
        tag_files(saved, [pattern], out, tag_parts=tag_parts)
    system.pipe_file(f"{root}/in/documents-1.jsonl", b"no JSON\n")
    outcome = tag_files(saved, [pattern], out, overwrite=True, tag_parts=tag_parts)
    assert outcome.problems == {
        f"{url}/in/documents-1.jsonl": f"{url}/in/documents-1.jsonl, line 1: not JSON (Expecting "
        'value: line 1 column 1 (char 0)): "no JSON"'
    }
    system.invalidate_cache()
    names = sorted(Path(each).name for each in system.find(f"{root}/out"))
    assert names == ["part-00000.jsonl", "part-00002.jsonl", "parts.json"]


def test_urls_work_as_folders_do(memory, saved, inputs, tmp_path):
    check(memory, "/grove", "memory:///grove", saved, inputs, tmp_path, one_by_one)


@needs_store
def test_an_object_store_works_as_a_folder_does(store, saved, inputs, tmp_path):
    check(store, "grove", "s3://grove", saved, inputs, tmp_path, one_by_one)


@needs_store
def test_an_object_store_on_a_cluster(store, saved, inputs, tmp_path):
    from labelgrove.cluster import open_cluster
    from labelgrove.cluster.tagging import tag_parts_on

    with open_cluster("local:2", object_store_memory=200 * 2**20) as cluster:
        on_cluster = tag_parts_on(cluster)
        check(store, "grove/ray", "s3://grove/ray", saved, inputs, tmp_path, on_cluster)


@needs_store
def test_buckets_that_are_not_there(store, saved, inputs):
    with pytest.raises(StorageError, match="cannot write s3://nowhere/out"):
        tag_files(saved, inputs, "s3://nowhere/out/parts")
    with pytest.raises(InputError, match=r"no file matches s3://grove/none/\*|there is no file"):
        tag_files(saved, ["s3://grove/none/*"], "s3://grove/other")
    with pytest.raises(InputError, match=r"there is no file s3://nowhere/d.jsonl"):
        tag_files(saved, ["s3://nowhere/d.jsonl"], "s3://grove/other")


def test_a_missing_library_is_named(saved, inputs, monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(MissingExtraError, match=r"gs:// needs .* missing: pip install gcsfs"):
        tag_files(saved, ["gs://bucket/d.jsonl"], "gs://bucket/out")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"s3:// needs fsspec.*labelgrove\[cluster\]"):
        tag_files(saved, inputs, "s3://bucket/out")


def test_an_unknown_kind_of_url(saved, inputs):
    with pytest.raises(InputError, match="cannot use nothing://bucket/out: Protocol not known"):
        tag_files(saved, inputs, "nothing://bucket/out")


def test_a_folder_is_no_input(memory, saved, tmp_path):
    memory.pipe_file("/grove/in/d.jsonl", b'{"text": "one"}\n')
    with pytest.raises(InputError, match=r"memory:///grove/in is a folder; name the files in it"):
        tag_files(saved, ["memory:///grove/in"], tmp_path / "out")


def test_copies_are_gone_afterwards(memory, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path))
    memory.pipe_file("/d.jsonl.gz", b"x")
    with remote_files.local_copy("memory:///d.jsonl.gz") as path:
        assert path.read_bytes() == b"x"
        assert path.name == "d.jsonl.gz"
    assert not list(tmp_path.iterdir())
