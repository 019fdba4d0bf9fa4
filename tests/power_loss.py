"""What a disk may hold after a power cut: work is recorded, then what was not flushed is lost.

The model is harsher than any file system. Until a file is flushed (fsync), the disk has all of
it, a part, zeros or nothing. Until a folder is flushed, each change of its names is on the disk
or not, whatever came before or after; a rename is one change. The power may go at any change or
flush.
"""

import os
import random
import shutil
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

CHANGES = ("mkdir", "rename", "replace", "unlink", "remove", "rmdir")
FEW = 4  # changes of which all combinations are looked at, and not only some


class Moment(NamedTuple):
    """What the disk has for sure, and what it may have.

    ``names`` is from (folder, name) to the number of a file or folder; a change has such pairs,
    with None for a name that is gone. ``told`` is how many acknowledgements there were before.
    """

    names: dict
    waiting: tuple
    contents: dict  # of each file: those that it may have
    told: int


class Recording:
    """Watches a folder in which work is done.

    Parameters
    ----------
    folder
        To be watched. What is in it already is on the disk.
    """

    def __init__(self, folder):
        self._folder, self._lock, self._open = folder, threading.RLock(), ExitStack()
        self._root, self._told, self._moments = folder.stat().st_ino, 0, []
        self._known = set()
        self._contents, self._names = self._look()
        self._sure, self._flushed, self._waiting = dict(self._names), dict(self._contents), []

    def acknowledge(self):
        """Note that what was done until now must not be lost any more."""
        self._changed()
        self._told += 1
        self._note()

    @contextmanager
    def watching(self):
        """Look at the folder whenever Python changes a name or flushes."""
        originals = {name: getattr(os, name) for name in (*CHANGES, "fsync")}

        def watched(original):
            def call(*arguments, **words):
                with self._lock:
                    self._changed()  # what was written meanwhile
                    try:
                        return original(*arguments, **words)
                    finally:
                        self._changed()

            return call

        def fsync(handle):
            with self._lock:
                self._changed()
                originals["fsync"](handle)
                self._flush(os.fstat(handle).st_ino)

        with self._open:
            try:
                for name in CHANGES:
                    setattr(os, name, watched(originals[name]))
                os.fsync = fsync
                yield self
            finally:
                for name, original in originals.items():
                    setattr(os, name, original)
            self._changed()

    def after_power_cuts(self, place, most):
        """Yield what had been acknowledged, and a folder as it may be found; no two are alike.

        Parameters
        ----------
        place
            Where each folder is made, and removed afterwards.
        most
            How many to look at, drawn at random, the same every time.
        """
        drawn, states = random.Random(0), {}
        for moment in self._moments:
            for names, contents in _outcomes(moment, drawn):
                tree = {path: contents.get(n) for path, n in _paths(names, self._root)}
                states[moment.told, frozenset(tree.items())] = tree
        for told, state in drawn.sample([*states], min(most, len(states))):
            _build(place, states[told, state])
            yield told, place
            shutil.rmtree(place)

    # --- recording ----------------------------------------------------------------------------

    def _look(self):
        """Return the contents of files by number, and the numbers behind names."""
        contents, names, numbers = {}, {}, {self._folder: self._root}
        for path in sorted(self._folder.rglob("*")):
            number = numbers[path] = path.stat().st_ino
            names[numbers[path.parent], path.name] = number
            if number not in self._known:  # an open file keeps its number to itself
                self._known.add(number)
                self._open.callback(os.close, os.open(path, os.O_RDONLY))
            if path.is_file():
                contents[number] = path.read_bytes()
        return contents, names

    def _changed(self):
        contents, names = self._look()
        different = {**self._names, **names}
        pairs = {key: (self._names.get(key), names.get(key)) for key in different}
        self._waiting += _together({key: p for key, p in pairs.items() if p[0] != p[1]})
        self._contents.update(contents)
        self._names = names
        self._note()

    def _flush(self, number):
        if number in self._contents:
            self._flushed[number] = self._contents[number]
        else:
            # a rename from one folder to another is on the disk with either of them
            here = [change for change in self._waiting if any(k[0] == number for k in change)]
            for change in here:
                _apply(self._sure, change)
            self._waiting = [change for change in self._waiting if change not in here]
        self._note()

    def _note(self):
        contents = {
            number: _possible(self._flushed.get(number, b""), data)
            for number, data in self._contents.items()
        }
        moment = Moment(dict(self._sure), tuple(self._waiting), contents, self._told)
        if not self._moments or moment != self._moments[-1]:
            self._moments.append(moment)


@dataclass
class _Group:
    keys: set
    numbers: set


def _together(pairs):
    """Return changes of names: those that give the same file another name are one."""
    groups = []
    for key, (before, after) in pairs.items():
        new = _Group({key}, {before, after} - {None})
        for group in [each for each in groups if each.numbers & new.numbers]:
            groups.remove(group)
            new = _Group(new.keys | group.keys, new.numbers | group.numbers)
        groups.append(new)
    return [{key: pairs[key][1] for key in group.keys} for group in groups]


def _possible(sure, data):
    """Return what may be in a file of which ``sure`` was flushed and ``data`` written."""
    if sure == data:
        return (data,)
    start = sure if data.startswith(sure) else b""
    half = len(start) + (len(data) - len(start)) // 2
    return (sure, data[:half], start + bytes(len(data) - len(start)), data)


def _apply(names, change):
    for key, number in change.items():
        if number is None:
            names.pop(key, None)
        else:
            names[key] = number


# --- power cuts -------------------------------------------------------------------------------


def _outcomes(moment, drawn):
    """Yield names and contents that the disk may have."""
    written = list(dict.fromkeys(_chosen(moment.contents, drawn)))
    for applied in _combinations(len(moment.waiting), drawn):
        names = dict(moment.names)
        for change, is_there in zip(moment.waiting, applied, strict=True):
            if is_there:
                _apply(names, change)
        for contents in written:
            yield names, dict(contents)


def _combinations(n, drawn):
    """Return which of n changes are on the disk: all combinations of a few, or some of many."""
    if n <= FEW:
        return [*product((False, True), repeat=n)]
    some = [(False,) * n, (True,) * n]
    for one in range(n - FEW, n):  # the newest are the likeliest to be missing
        some += [tuple((k == one) == is_there for k in range(n)) for is_there in (False, True)]
    for share in (0.2, 0.5, 0.8):
        some += [tuple(drawn.random() < share for _ in range(n)) for _ in range(3)]
    return [*dict.fromkeys(some)]


def _chosen(contents, drawn):
    """Yield contents of all files: each kind for all of them, then mixed."""
    for kind in range(4):
        yield tuple((n, each[min(kind, len(each) - 1)]) for n, each in contents.items())
    yield tuple((n, drawn.choice(each)) for n, each in contents.items())


def _paths(names, folder, path=""):
    """Yield the paths that lead anywhere, and the numbers there."""
    for (above, name), number in names.items():
        if above == folder:
            yield f"{path}{name}", number
            yield from _paths(names, number, f"{path}{name}/")


def _build(place, tree):
    place.mkdir()
    for path, data in sorted(tree.items()):  # a folder before what is in it
        if data is None:
            (place / path).mkdir()
        else:
            (place / path).write_bytes(data)
