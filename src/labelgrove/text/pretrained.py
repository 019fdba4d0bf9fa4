"""What is pretrained, tokenizers, models and vectors: found here, or downloaded from the hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from labelgrove.core import checks
from labelgrove.core.errors import InputError, LabelgroveError, MissingExtraError
from labelgrove.core.extras import need

EXTRA = "transformers"
FILES = {
    "tokenizer": "such as tokenizer.json, or vocab.txt or spiece.model beside config.json",
    "model": "config.json and model.safetensors; weights in other files, such as "
    "pytorch_model.bin, are not read",
    "static vectors": "config.json, tokenizer.json, and model.safetensors with 'embeddings'",
}
TYPES = 100  # segments that a tokenizer knows at most, which is far more than any does
MOST_AROUND = 1000  # tokens around a text, likewise
TRIALS = ("a", "1", ".", "一")  # a tokenizer knows one of these, whatever its language
SECONDS = 10  # to wait for the hub's first answer


class Specials(NamedTuple):
    """What a tokenizer puts around one text, and what else a model must know of it.

    Parameters
    ----------
    before, behind
        Token numbers before and behind the text.
    before_types, behind_types
        Their segments (token types), as long.
    text_type
        The segment of the text's own tokens.
    pad
        The token that fills up short texts; 0 where the tokenizer has none, as padding is masked.
    n_terms
        Rows an embedding table needs: the greatest token number, added tokens too, and one more.
    """

    before: tuple[int, ...]
    behind: tuple[int, ...]
    before_types: tuple[int, ...]
    behind_types: tuple[int, ...]
    text_type: int
    pad: int
    n_terms: int

    def as_json(self) -> dict[str, Any]:
        """Return the parts by name, as JSON knows them."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._asdict().items()
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Specials:
        """Return what `as_json` was called on, if it holds together."""
        parts: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        found = cls(**parts)
        n_terms = checks.whole("n_terms", found.n_terms, least=1, most=2**31 - 1)
        checks.whole("pad", found.pad, most=n_terms - 1)
        checks.whole("text_type", found.text_type, most=TYPES)
        _check_tokens("before", found.before, found.before_types, n_terms)
        _check_tokens("behind", found.behind, found.behind_types, n_terms)
        return found


class Pair(NamedTuple):
    """What a tokenizer puts around a text and something else that is read with it.

    Parameters
    ----------
    before, between, behind
        Token numbers before the text, between the two, and behind what is read with it.
    types
        The segments (token types) of those before, of the text, of those between, of what is read
        with it, and of those behind.
    """

    before: tuple[int, ...]
    between: tuple[int, ...]
    behind: tuple[int, ...]
    types: tuple[tuple[int, ...], int, tuple[int, ...], int, tuple[int, ...]]

    def as_json(self) -> dict[str, Any]:
        """Return the parts by name, as JSON knows them."""
        return {**self._asdict(), "types": list(self.types)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Pair:
        """Return what `as_json` was called on."""
        one, first, two, second, three = values["types"]
        types = (tuple(one), first, tuple(two), second, tuple(three))
        before, between, behind = (tuple(values[k]) for k in ("before", "between", "behind"))
        for name, ids, kinds in (
            ("before", before, types[0]),
            ("between", between, types[2]),
            ("behind", behind, types[4]),
        ):
            _check_tokens(name, ids, kinds, 2**31 - 1)
        for kind in (first, second):
            checks.whole("types", kind, most=TYPES)
        return cls(before, between, behind, types)

    @property
    def n_around(self) -> int:
        """Number of tokens that are neither of the text nor of what is read with it."""
        return len(self.before) + len(self.between) + len(self.behind)


def _check_tokens(name: str, ids: Any, types: Any, n_terms: int) -> None:
    """Refuse tokens around a text that are no tokens, or have no segments."""
    if len(ids) != len(types) or len(ids) > MOST_AROUND:
        raise ValueError(f"{name} has {len(ids):,} tokens and {len(types):,} segments")
    for each, kind in zip(ids, types, strict=True):
        checks.whole(name, each, most=n_terms - 1)
        checks.whole(f"{name}_types", kind, most=TYPES)


def load_tokenizer(name: str) -> Any:
    """Return a pretrained tokenizer of transformers whose work is done by ``tokenizers``.

    Parameters
    ----------
    name
        As of `load_pretrained`.
    """
    tokenizer = load_pretrained(name, "tokenizer", "AutoTokenizer")
    if not tokenizer.is_fast:
        raise InputError(
            f"the tokenizer of {name}, {type(tokenizer).__name__}, is written in Python only and "
            "has no fast form (tokenizer.json); choose another model"
        )
    return tokenizer


def load_pretrained(name: str, what: str, kind: str, **options: Any) -> Any:
    """Return a tokenizer or model, from this machine if it is there.

    A folder is looked for first, then the hub's cache on this machine, then, unless
    ``HF_HUB_OFFLINE`` is set, the hub. Code that a model brings along is not run.

    Parameters
    ----------
    name
        A folder, or a name on the Hugging Face hub.
    what
        What it is, ``"tokenizer"`` or ``"model"``, for messages.
    kind
        The class of transformers that loads it, such as ``"AutoTokenizer"``.
    **options
        For its ``from_pretrained``.
    """
    if not name.strip():
        raise InputError(
            f"{what} is empty: give a folder with a {what}, or a name on the Hugging Face hub "
            "such as 'google-bert/bert-base-uncased'"
        )
    transformers = need("transformers", EXTRA, f"a pretrained {what}")

    def load(place: str, **others: Any) -> Any:
        with _quiet(transformers.logging):
            found = getattr(transformers, kind)
            return found.from_pretrained(place, trust_remote_code=False, **options, **others)

    return load_named(name, what, load)


def load_named(name: str, what: str, load: Callable[..., Any], by: str = EXTRA) -> Any:
    """Return what ``load`` makes of a folder, or of a name on the hub.

    Parameters
    ----------
    name
        A folder, or a name on the Hugging Face hub.
    what
        What it is, a key of ``FILES``, for messages.
    load
        Called with the folder or name; with ``local_files_only=True`` it must not download.
    by
        The library that loads it, for messages.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return _from_folder(path, what, load, by)
    if path.exists():
        raise InputError(f"{name} is a file; give the folder it is in")
    if _is_path(name):
        raise InputError(f"no such folder: {name}")
    return _from_hub(name, what, load)


def beside(name: str, file: str) -> Path | None:
    """Return the path of another file of a model, or None if it has none or is out of reach."""
    path = Path(name).expanduser()
    if path.is_dir():
        return path / file if (path / file).is_file() else None
    hub = need("huggingface_hub", EXTRA, "a model of the Hugging Face hub")
    for local in (True, False):
        try:
            return Path(hub.hf_hub_download(name, file, local_files_only=local))
        except Exception:  # not there, not reached, not allowed: all the same here
            continue
    return None


def specials_of(tokenizer: Any) -> Specials:
    """Ask a tokenizer of `load_tokenizer` what it puts around one text."""
    backend, trial = _tried(tokenizer)
    found = backend.encode(trial)
    (own,) = _places(found, 1)
    first, end = own[0], own[-1] + 1
    return Specials(
        before=tuple(found.ids[:first]),
        behind=tuple(found.ids[end:]),
        before_types=tuple(found.type_ids[:first]),
        behind_types=tuple(found.type_ids[end:]),
        text_type=found.type_ids[first],
        pad=tokenizer.pad_token_id or 0,
        n_terms=max(backend.get_vocab(with_added_tokens=True).values()) + 1,
    )


def pair_of(tokenizer: Any) -> Pair:
    """Ask a tokenizer of `load_tokenizer` what it puts around two texts that are read together.

    One that knows of single texts only puts around both what it puts around one, and between them
    the first of what it puts behind one, as those do that know of two.
    """
    backend, trial = _tried(tokenizer)
    found = backend.encode(trial, trial)
    one, two = _places(found, 2)
    parts = slice(0, one[0]), slice(one[-1] + 1, two[0]), slice(two[-1] + 1, None)
    ids, types = ([tuple(each[part]) for part in parts] for each in (found.ids, found.type_ids))
    if not any(ids):
        near = specials_of(tokenizer)
        ids = [near.before, near.behind[:1], near.behind]
        types = [near.before_types, near.behind_types[:1], near.behind_types]
    first, second = found.type_ids[one[0]], found.type_ids[two[0]]
    return Pair(ids[0], ids[1], ids[2], (types[0], first, types[1], second, types[2]))


def _tried(tokenizer: Any) -> tuple[Any, str]:
    """Return what tokenizes, and a text of which it makes a token."""
    backend = plain(need("tokenizers", EXTRA, "a tokenizer"), tokenizer.backend_tokenizer.to_str())
    for trial in TRIALS:
        if _places(backend.encode(trial), 1)[0]:
            return backend, trial
    raise InputError(f"{tokenizer.name_or_path} makes no token of any of {TRIALS}")


def _places(encoding: Any, n: int) -> list[list[int]]:
    """Return where the tokens of each of n texts stand."""
    owners = encoding.sequence_ids
    return [[i for i, owner in enumerate(owners) if owner == text] for text in range(n)]


def plain(library: Any, text: str) -> Any:
    """Return the ``tokenizers.Tokenizer`` of its JSON, one that neither cuts nor pads.

    ``[SEP]`` or ``</s>`` in a text is read as these characters: documents give no commands.
    """
    tokenizer = library.Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _is_path(name: str) -> bool:
    """Tell what can only be a folder; a hub's name is ``model`` or ``owner/model``."""
    return name[0] in "./~" or "\\" in name or name.count("/") > 1 or name.endswith("/")


def _from_folder(folder: Path, what: str, load: Callable[..., Any], by: str) -> Any:
    try:
        return load(str(folder), local_files_only=True)
    except LabelgroveError:
        raise
    except Exception as error:  # the libraries raise all kinds, bare Exception too
        _check_sentencepiece(folder)
        raise InputError(
            f"{folder} holds no {what} that {by} can load ({FILES[what]}): {_line(error)}"
        ) from error


def _from_hub(name: str, what: str, load: Callable[..., Any]) -> Any:
    try:
        return load(name, local_files_only=True)
    except LabelgroveError:
        raise
    except Exception as error:
        hub = need("huggingface_hub", EXTRA, f"a {what} of the Hugging Face hub")
        way = f"run 'hf download {name}' where there is internet and give the folder it prints"
        if hub.constants.HF_HUB_OFFLINE:
            raise InputError(
                f"no {what} {name!r}: it is neither a folder here nor in the cache of the "
                f"Hugging Face hub, and HF_HUB_OFFLINE is set: unset it, or {way}"
            ) from error
        try:
            hub.HfApi().model_info(name, timeout=SECONDS)  # tells at once; a download tries long
            return load(name)
        except Exception as failure:
            raise InputError(
                f"no {what} {name!r}: it is neither a folder here nor in the cache of the "
                f"Hugging Face hub, and cannot be downloaded ({_line(failure)}): {way}"
            ) from failure


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """Let transformers say nothing but errors: ours tell what went wrong."""
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


def _check_sentencepiece(folder: Path) -> None:
    """Say so if the folder has a sentencepiece model and a library to read it is missing."""
    if not any(folder.glob("*.model")):
        return
    for package, module in (("sentencepiece", "sentencepiece"), ("protobuf", "google.protobuf")):
        try:
            there = find_spec(module) is not None
        except ModuleNotFoundError:  # of google
            there = False
        if not there:
            raise MissingExtraError(
                f"the sentencepiece model in {folder} needs {package}, which is not installed: "
                f"pip install 'labelgrove[{EXTRA}]'"
            )


def _line(error: Exception) -> str:
    """Return the first line of a library's message."""
    lines = str(error).strip().splitlines()
    return lines[0].strip().rstrip(".:") if lines else type(error).__name__
