"""Small files that stand for a lot: they are refused before they fill the memory."""

import gzip
import lzma
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from labelgrove.core.errors import BadRowError
from labelgrove.core.files import LINE, content, lines

zstandard = pytest.importorskip("zstandard")

MEMORY = 3 << 30  # bytes of address space: the libraries take one, a bomb needs more than all

READ = """
import resource, sys
from pathlib import Path
from labelgrove.core.errors import InputError
from labelgrove.core.files import lines
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
try:
    print(sum(1 for _ in lines(Path(sys.argv[1]))))
except InputError as error:
    print(error)
"""


def read_in_little_memory(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", READ.format(memory=MEMORY), str(path)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout.strip()


def zstd_bomb(path: Path, gibibytes: int) -> Path:
    """Write a frame of blocks that each repeat one byte, which needs no such text in memory."""
    block = ((1 << 17) << 3 | 0b010).to_bytes(3, "little") + b"a"  # 128 KiB of one byte
    last = (1 << 3 | 0b011).to_bytes(3, "little") + b"\n"
    header = bytes.fromhex("28b52ffd") + bytes([0x00, 0x58])  # a window of 2 MiB, no size told
    path.write_bytes(header + block * (gibibytes << 13) + last)
    return path


def test_a_zstd_file_of_one_line_does_not_fill_the_memory(tmp_path):
    bomb = zstd_bomb(tmp_path / "docs.jsonl.zst", 6)
    assert bomb.stat().st_size < 330_000
    said = read_in_little_memory(bomb)
    assert said.startswith(f"{bomb}, line 1: the line has more than {LINE:,} bytes")
    assert "cut" in said


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst", ""])
def test_a_line_that_is_too_long_is_named(tmp_path, suffix):
    pack = {
        ".gz": partial(gzip.compress, compresslevel=1),
        ".xz": partial(lzma.compress, preset=0),
        ".zst": zstandard.compress,
    }
    path = tmp_path / f"docs.jsonl{suffix}"
    packed = pack.get(suffix, bytes)
    path.write_bytes(packed(b"first\n" + b" " * (LINE + 1)))
    with pytest.raises(BadRowError, match="line 2: the line has more than") as problem:
        list(lines(path))
    assert problem.value.line == 2


def test_a_line_of_the_greatest_length_is_read(tmp_path):
    path = tmp_path / "docs.jsonl.zst"
    path.write_bytes(zstandard.compress(b"a" * (LINE - 1) + b"\nnext"))
    assert [len(line) for line in lines(path)] == [LINE, 4]


def test_many_frames_are_one_file(tmp_path):
    path = tmp_path / "docs.txt.zst"
    rows = [b"%d\n" % number for number in range(5_000)]
    path.write_bytes(b"".join(zstandard.compress(row) for row in rows))
    assert list(lines(path)) == rows


def test_a_whole_file_has_a_limit(tmp_path):
    path = tmp_path / "labels.ttl.gz"
    path.write_bytes(gzip.compress(b"a\n" * 500))
    assert len(content(path, 1_000)) == 1_000
    with pytest.raises(BadRowError, match="more than 999 bytes once it is decompressed"):
        content(path, 999)
