"""Changes of saved folders that nobody should make: arrays, JSON and files, with new checksums.

A checksum tells what was damaged by accident. Somebody who alters a folder on purpose computes it
again, as `sealed` does; what is left then are the checks that loading makes itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

MANIFEST = "manifest.json"
NUMBERS = (0, -1, 1, 7, 255, 256, 65_535, 2**31 - 1, -(2**31), 2**32, 2**62, -(2**62))
FLOATS = (0.0, -1.0, 1e30, -1e30, float("nan"), float("inf"), float("-inf"), 1e-40)
DTYPES = ("i1", "u1", "i2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i4", ">f4", "?", "U3", "c8")
JSONS = (None, True, -1, 0, 3, 10**9, 10**18, 2**63, 2**64, 10**40, 1e308, -0.5, "", "x", "static:",
         "char:9-1", [], {}, [[]], [-1], [10**12, 2], {"x": 1}, ["a", 3])  # fmt: skip


@contextmanager
def sealed(folder: Path) -> Iterator[None]:
    """Write a manifest that fits whatever was changed inside."""
    yield
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except ValueError:
        return  # the manifest itself was changed
    files = sorted(each for each in folder.rglob("*") if each.is_file() and each != path)
    manifest["files"] = {each.relative_to(folder).as_posix(): _facts(each) for each in files}
    manifest.pop("checksum", None)
    text = json.dumps(manifest, sort_keys=True, ensure_ascii=True)
    manifest["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(manifest, ensure_ascii=False), "utf-8", "surrogatepass")


def _facts(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def change(folder: Path, random: Random) -> str:
    """Change one thing in a saved folder, sometimes two, and return what was done."""
    times = 1 if random.random() < 0.8 else 2
    with sealed(folder):
        done = [_change_once(folder, random) for _ in range(times)]
    return "; ".join(done)


def _change_once(folder: Path, random: Random) -> str:
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    arrays = [each for each in files if each.suffix == ".npy"]
    texts = [each for each in files if each.suffix == ".json"]
    kinds: list[Callable[[], str]] = [lambda: _change_file(folder, random.choice(files), random)]
    if arrays:
        kinds += [lambda: _change_array(folder, random.choice(arrays), random)] * 6
        kinds += [lambda: _swap(folder, arrays, random)]
    if texts:
        kinds += [lambda: _change_json(folder, random.choice(texts), random)] * 4
    return random.choice(kinds)()


# --- arrays -----------------------------------------------------------------------------------


def _change_array(folder: Path, path: Path, random: Random) -> str:
    name = path.relative_to(folder).as_posix()
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, SyntaxError):  # changed before
        return f"{name} is no array already"
    how = random.choice(
        (
            "value",
            "value",
            "value",
            "few",
            "dtype",
            "shape",
            "cut",
            "longer",
            "all",
            "shuffle",
            "empty",
        )
    )
    with np.errstate(all="ignore"):
        changed = _altered(array, how, random)
    _write(path, changed)
    return (
        f"{name}: {how} ({array.dtype}{list(array.shape)} -> {changed.dtype}{list(changed.shape)})"
    )


def _altered(array: NDArray[Any], how: str, random: Random) -> NDArray[Any]:
    if how == "dtype":
        return array.astype(random.choice(DTYPES))
    if how == "shape":
        return random.choice((array.reshape(-1), array[None], array.reshape(-1, 1), array.T))
    if how == "cut":
        return array[: random.randrange(len(array))] if array.ndim and len(array) else array
    if how == "longer":
        return np.concatenate([array, array[-1:]]) if array.ndim else array
    if how == "empty":
        return array[:0] if array.ndim else array
    if how == "shuffle":
        mixed = list(range(array.size))
        random.shuffle(mixed)
        return array.reshape(-1)[mixed].reshape(array.shape)
    changed = array.copy()
    flat = changed.reshape(-1)
    if not len(flat):
        return np.zeros(random.choice((1, 3, 1000)), array.dtype)
    if how == "all":
        flat[:] = _number(array.dtype, random)
    for _ in range(1 if how == "value" else random.randrange(2, 9)):
        place = random.choice((0, len(flat) - 1, random.randrange(len(flat))))
        flat[place] = _number(array.dtype, random)
    return changed


def _number(dtype: np.dtype[Any], random: Random) -> Any:
    if dtype.kind == "f":
        return np.float64(random.choice(FLOATS)).astype(dtype)
    number = random.choice((*NUMBERS, random.randrange(-5, 300)))
    return np.array([number & (2**64 - 1)], np.uint64).astype(dtype)[0]


def _write(path: Path, array: NDArray[Any]) -> None:
    with io.BytesIO() as buffer:
        np.lib.format.write_array(buffer, array, allow_pickle=False)
        path.write_bytes(buffer.getvalue())


def _swap(folder: Path, arrays: list[Path], random: Random) -> str:
    one, two = random.choice(arrays), random.choice(arrays)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    return f"{one.relative_to(folder)} and {two.relative_to(folder)} change places"


# --- files ------------------------------------------------------------------------------------


def _change_file(folder: Path, path: Path, random: Random) -> str:
    how = random.choice(("cut", "flip", "flip", "gone", "copied"))
    data = bytearray(path.read_bytes())
    if how == "gone" and path.name != MANIFEST:
        path.unlink()
    elif how == "copied":
        shutil.copyfile(path, path.with_name(f"more-{path.name}"))
    elif how == "cut":
        path.write_bytes(data[: random.randrange(len(data) + 1)])
    else:
        for _ in range(random.randrange(1, 6)):  # most often in the header of an array
            place = random.randrange(min(len(data), 160) if random.random() < 0.7 else len(data))
            data[place] = random.randrange(256)
        path.write_bytes(data)
    return f"{path.relative_to(folder)}: {how}"


# --- JSON -------------------------------------------------------------------------------------


def _change_json(folder: Path, path: Path, random: Random) -> str:
    name = path.relative_to(folder).as_posix()
    try:
        value = json.loads(path.read_text("utf-8", "surrogatepass"))
    except ValueError:
        return f"{name} is no JSON already"
    places = list(_places(value))
    if path.name == MANIFEST:  # its list of files is written again anyway
        places = [each for each in places if "files" not in each[1] and "checksum" not in each[1]]
    if not places:
        return f"{name} is empty"
    holder, where = random.choice(places)
    key = where[-1]
    if random.random() < 0.2:
        done = f"{name}: {_shown(where)} left out"
        del holder[key]
    else:
        old, new = holder[key], _other(holder[key], random)
        holder[key] = new
        done = f"{name}: {_shown(where)} {str(old)[:40]!r} -> {str(new)[:40]!r}"
    path.write_text(json.dumps(value), "utf-8", "surrogatepass")
    return done


def _other(old: Any, random: Random) -> Any:
    if isinstance(old, int) and not isinstance(old, bool) and random.random() < 0.5:
        return random.choice((old + 1, old - 1, -old, old * 1000, old // 2, 2**63, -(2**63) - 1))
    if isinstance(old, str) and old[:1] == "{" and random.random() < 0.7:  # JSON inside JSON
        inside = json.loads(old)
        holder, where = random.choice(list(_places(inside)))
        holder[where[-1]] = _other(holder[where[-1]], random)
        return json.dumps(inside)
    return random.choice(JSONS)


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield every list or dict inside a value with the way to each of its items."""
    if isinstance(value, dict):
        items: list[tuple[Any, Any]] = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value[:20]))
    else:
        return
    for key, each in items:
        yield value, (*above, key)
        yield from _places(each, (*above, key))


def _shown(where: tuple[Any, ...]) -> str:
    return "/".join(map(str, where))
