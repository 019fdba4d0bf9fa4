"""What a command reads and the folder that it writes: which may not be the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def check_apart(folder: Path, out: Path, command: str) -> None:
    """Refuse to write a tagger over one that is read, or one into the other."""
    from labelgrove.core.errors import InputError

    old, new = folder.resolve(), out.resolve()
    way_out = "choose a folder beside it, and remove the old one when you are content"
    if is_same(old, new):
        raise InputError(
            f"--out {out} is {folder} itself, which {command} does not change; {way_out}"
        )
    if old in new.parents or new in old.parents:
        raise InputError(f"of --out {out} and {folder} one lies in the other; {way_out}")


def check_different(folders: Sequence[Path]) -> None:
    """Refuse a tagger that is given twice."""
    from labelgrove.core.errors import InputError

    for number, folder in enumerate(folders):
        for other in folders[:number]:
            if is_same(folder, other):
                raise InputError(
                    f"{folder} and {other} are one tagger, and twice the same tells nothing "
                    "new: give each once"
                )


def is_same(first: Path, second: Path) -> bool:
    """Tell whether two paths lead to one file or folder, which need not exist."""
    one, other = first.resolve(), second.resolve()
    return one == other or (one.exists() and other.exists() and one.samefile(other))
