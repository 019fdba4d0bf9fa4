"""What a command reads and the folder that it writes: which may not be the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

WAY_OUT = "choose a folder beside it, and remove the old one when you are content"


def check_apart(folder: Path, out: Path, command: str) -> None:
    """Refuse to write a tagger over one that is read, or one into the other."""
    from labelgrove.core.errors import InputError

    if is_same(folder, out):
        raise InputError(
            f"--out {out} is {folder} itself, which {command} does not change; {WAY_OUT}"
        )
    check_not_inside(folder, out)


def check_not_inside(folder: Path, out: Path) -> None:
    """Refuse to write a tagger into one that is read, or around it."""
    from labelgrove.core.errors import InputError

    old, new = folder.resolve(), out.resolve()
    if old in new.parents or new in old.parents:
        raise InputError(f"of --out {out} and {folder} one lies in the other; {WAY_OUT}")


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
