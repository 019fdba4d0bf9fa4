"""The model card of a tagger: a README.md for people and for the Hugging Face hub.

It is made of the manifest alone, and of what it was told besides: a licence, languages, the scores
on test files. So it costs nothing when a tagger is saved, and can be written again without loading
one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from labelgrove.core import checks, storage
from labelgrove.core.cards import generated, read_card
from labelgrove.core.errors import InputError
from labelgrove.core.manifest import CARD
from labelgrove.core.printable import printable
from labelgrove.core.snapshot import OF_HUB
from labelgrove.core.wording import several
from labelgrove.models import MODELS
from labelgrove.tagger.scoring import Scores
from labelgrove.text import FEATURIZERS

Told = Mapping[str, Any]

SHOWN = re.compile(r"(?:P|R|nDCG|PSP)@\d+|(?:micro|macro)-F1")  # metrics of a card
MANY = 1000  # labels from which on a task is called extreme
LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,59}")  # how the hub writes licences
LANGUAGE = re.compile(r"[a-z]{2,3}")
WORDS = {"P": "precision", "R": "recall", "nDCG": "ndcg", "PSP": "psp"}
# the start of a path up to its last separator, but neither of an address nor of "owner/name"
FOLDERS = re.compile(r"(?<![\w./\\~-])(?:~\w*|\.{1,2}|[A-Za-z]:)?[\\/](?![\\/])(?:[^\\/]+[\\/])*")


def check_told(license: str | None, languages: Sequence[str]) -> None:  # noqa: A002
    """Raise an error for a licence or language that the hub would not know."""
    if license is not None and not LICENSE.fullmatch(license):
        raise InputError(
            f"{license!r} is no licence as the Hugging Face hub writes them: give its identifier "
            "in small letters, such as apache-2.0, mit, cc-by-4.0 or other"
        )
    for language in languages:
        if not LANGUAGE.fullmatch(language):
            raise InputError(f"{language!r} is no code of a language such as en, de or fin")


def card_text(manifest: Mapping[str, Any], told: Told) -> str:
    """Return the card of a tagger; it does not name its folder, which may be renamed.

    Parameters
    ----------
    manifest
        The manifest of the tagger.
    told
        What the manifest does not hold: ``license``, ``languages``, ``repository`` on the hub and
        ``tests``; see `fitting`.
    """
    told = fitting(told, manifest)
    languages = told.get("languages") or manifest.get("facts", {}).get("languages", [])
    measured = _measurements(manifest, told)
    repository = told.get("repository")
    labels = several(manifest["labels"], "label")
    name = repository.partition("/")[2] if repository else f"Tagger of {labels}"
    body = [
        *_front_matter(name, manifest, told, languages, measured),
        f"# {_plain(name)}",
        f"A tagger made with labelgrove {_plain(manifest['labelgrove'])}: it ranks "
        f"{labels} for a text and gives each a probability. The "
        f"model is `{_plain(manifest['model'])}`.",
        *_how_to_use(manifest, repository),
        *_data(manifest, languages),
        *_scores(measured),
        *_settings(manifest),
        "## Licence",
        told.get("license") or "Not stated.",
        *_limits(manifest),
    ]
    return generated("\n".join(body), told)


def update_card(
    folder: str | os.PathLike[str],
    *,
    license: str | None = None,  # noqa: A002
    languages: Sequence[str] = (),
    test: str = "",
    scores: Scores | None = None,
) -> bool:
    """Write the card of a saved tagger again; return False if a person has edited it.

    An edited card stays as it is. Checksums and signature of the folder are not affected.

    Parameters
    ----------
    folder
        A saved tagger.
    license
        Its licence, such as ``"cc-by-4.0"``; None leaves what the card says.
    languages
        ISO codes of the languages of its texts; none leaves what the card says.
    test, scores
        Name of a test file, and the scores on it that `Tagger.evaluate` returned. Scores on a file
        of the same name are replaced.
    """
    check_told(license, languages)
    place = Path(folder)
    manifest = storage.read_manifest(place, verify=False)
    if manifest.get("part") != "tagger":
        raise InputError(f"{folder} holds a {manifest.get('part')!r}, not a tagger")
    old = read_card(place)
    if old is not None and old.edited:
        return False
    told = with_told({} if old is None else old.told, license, languages)
    with checks.reading(place):
        told = fitting(told, manifest)
        if scores is not None:
            name = Path(test).name
            tests = [each for each in told.get("tests", []) if each["name"] != name]
            told |= {"tests": [*tests, _test(name, scores)]}
        text = card_text(manifest, told)
    storage.write_text(place / CARD, text)
    return True


def fitting(told: Told, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what counts of what a card was told.

    Its repository and tests count only if ``of`` is the manifest's checksum: else they are of an
    older tagger. What the hub would not know is left out, since a card may come from anywhere.
    """
    kept: dict[str, Any] = {"of": manifest["checksum"]}
    if isinstance(told.get("license"), str) and LICENSE.fullmatch(told["license"]):
        kept["license"] = told["license"]
    languages = told.get("languages")
    if isinstance(languages, list) and all(LANGUAGE.fullmatch(str(each)) for each in languages):
        kept["languages"] = languages
    if _fits(told, manifest):
        if OF_HUB.fullmatch(str(told.get("repository"))):
            kept["repository"] = told["repository"]
        kept["tests"] = told.get("tests", [])
    return kept


def with_told(told: Told, license: str | None, languages: Sequence[str]) -> dict[str, Any]:  # noqa: A002
    """Return what a card was told, with another licence and languages where they are given."""
    given = {"license": license, "languages": [*languages]}
    return {**told, **{name: value for name, value in given.items() if value}}


def without_folders(text: str) -> str:
    """Return a text whose paths have lost their folders.

    Examples
    --------
    >>> without_folders("static:/home/me/vectors.txt"), without_folders("../my encoder")
    ('static:vectors.txt', 'my encoder')
    >>> without_folders("BAAI/bge-m3"), without_folders("http://localhost:80/v1")
    ('BAAI/bge-m3', 'http://localhost:80/v1')
    """
    return FOLDERS.sub("", text)


def local_paths(manifest: Mapping[str, Any]) -> list[str]:
    """Return the paths of the machine that the settings in a manifest name, each once."""
    values = _strings([manifest.get("settings"), manifest.get("features"), manifest.get("reading")])
    return sorted({value for value in values if without_folders(value) != value})


def keeps_texts(manifest: Mapping[str, Any]) -> bool:
    """Tell whether a tagger holds how its training documents begin."""
    return any(re.search(r"(^|/)documents/letters\.npy$", name) for name in manifest["files"])


def _fits(told: Told, manifest: Mapping[str, Any]) -> bool:
    """Tell whether the tests that a card was told are of this tagger, not of an older one."""
    return bool(told.get("of") == manifest["checksum"])


def _test(name: str, scores: Scores) -> dict[str, Any]:
    """Return scores on a test file as a card keeps them, without texts that were learned."""
    clean = scores.without_learned_texts
    learned = scores.learned_texts or 0
    return {
        "name": name,
        "documents": scores.documents - (learned if clean is not None else 0),
        "scores": {key: each for key, each in (clean or scores).items() if SHOWN.fullmatch(key)},
        "intervals": {} if clean is not None else {k: [*v] for k, v in scores.intervals.items()},
        "learned": learned if clean is None else 0,
    }


def _measurements(manifest: Mapping[str, Any], told: Told) -> list[dict[str, Any]]:
    """Return the scores there are, each with what it was measured on."""
    held = manifest.get("held_out") or {}
    own = {key: each for key, each in manifest["scores"].items() if SHOWN.fullmatch(key)}
    found = [{**held, "name": "held-out documents", "scores": own}] if own else []
    return [*found, *told.get("tests", [])]


# --- what the hub reads ------------------------------------------------------------------------


def _front_matter(
    name: str,
    manifest: Mapping[str, Any],
    told: Told,
    languages: Sequence[str],
    measured: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """Return the lines that the hub reads; strings of JSON are strings of YAML too."""
    tags = ["labelgrove", "text-classification", "multi-label-classification"]
    if manifest["labels"] >= MANY:
        tags.append("extreme-multi-label-classification")
    yield "---"
    yield "library_name: labelgrove"
    yield "pipeline_tag: text-classification"
    yield f"tags: {_yaml([*tags, manifest['model']])}"
    if told.get("license"):
        yield f"license: {_yaml(told['license'])}"
    if languages:
        yield f"language: {_yaml([*languages])}"
    if measured:
        yield "model-index:"
        yield f"- name: {_yaml(name)}"
        yield "  results:"
        for each in measured:
            data = {"type": each["name"], "name": each["name"]}
            yield '  - task: {"type": "text-classification"}'
            yield f"    dataset: {_yaml(data)}"
            yield "    metrics:"
            for metric, value in each["scores"].items():
                kind, _, k = metric.partition("@")
                word = f"{WORDS[kind]}_at_{k}" if k else metric.replace("-", "_").lower()
                row = {"type": word, "name": metric, "value": round(value, 4)}
                yield f"    - {_yaml(row)}"
    yield "---"


# --- what people read --------------------------------------------------------------------------


def _how_to_use(manifest: Mapping[str, Any], repository: str | None) -> list[str]:
    extras = sorted({*_extras(manifest)})
    package = f"'labelgrove[{','.join([*extras, 'hub'] if repository else extras)}]'"
    place = repository.partition("/")[2] if repository else "DIR"
    pull = [f"labelgrove pull {repository}"] if repository else []
    load = f'from_pretrained("{repository}")' if repository else 'load("DIR")'
    return [
        "## How to use it",
        *([] if repository else ["`DIR` is the folder of this file."]),
        "```sh",
        f"pip install {package if extras or repository else 'labelgrove'}",
        *pull,
        f'labelgrove tag {place} --text "A text" -k 5',
        "```",
        "```python",
        "from labelgrove import Tagger",
        f"tagger = Tagger.{load}",
        'tagger.tag("A text", k=5)',
        "```",
    ]


def _extras(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Return the extras of labelgrove that a tagger needs."""
    used = [MODELS.extra(manifest["model"])]
    used += [FEATURIZERS.extra(part["name"]) for part in manifest["features"].values()]
    return (extra for extra in used if extra)


def _data(manifest: Mapping[str, Any], languages: Sequence[str]) -> list[str]:
    facts = manifest.get("facts", {})
    source = f" of `{_plain(facts['source'])}`" if facts.get("source") else ""
    lines = [
        "## What it learned from",
        f"- {several(manifest['documents'], 'document')}{source}",
        f"- {several(manifest['labels'], 'label')}",
    ]
    if rare := facts.get("rare_labels"):
        lines[-1] += f", {rare:,} of them with fewer than five documents"
    return [*lines, *([f"- Language: {', '.join(languages)}"] if languages else [])]


def _scores(measured: Sequence[Mapping[str, Any]]) -> list[str]:
    if not measured:
        return ["## Scores", "None are known: no documents were held out, and none were tested on."]
    titles = [_plain(each["name"]) for each in measured]
    metrics = dict.fromkeys(metric for each in measured for metric in each["scores"])
    lines = [
        "## Scores",
        "In %, in brackets the 95 % interval over documents where it is known.",
        "",
        f"| | {' | '.join(titles)} |",
        f"|---|{'---|' * len(titles)}",
        f"| documents | {' | '.join(_documents(each) for each in measured)} |",
    ]
    lines += [f"| {m} | {' | '.join(_cell(each, m) for each in measured)} |" for m in metrics]
    if measured[0]["name"] == "held-out documents":
        lines += [
            "",
            "Held-out documents also tuned the thresholds, so F1 on them is slightly optimistic.",
        ]
    for each in measured:
        if each.get("learned"):
            lines += [
                "",
                f"Of {_plain(each['name'])}, {each['learned']:,} texts were learned: its scores "
                "are too high.",
            ]
    return lines


def _documents(measured: Mapping[str, Any]) -> str:
    return f"{measured['documents']:,}" if measured.get("documents") else "not known"


def _cell(measured: Mapping[str, Any], metric: str) -> str:
    value = measured["scores"].get(metric)
    if value is None:
        return ""
    interval = measured.get("intervals", {}).get(metric)
    around = f" ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})" if interval else ""
    return f"{100 * value:.1f}{around}"


def _settings(manifest: Mapping[str, Any]) -> list[str]:
    settings = {"model": manifest["model"], "settings": manifest["settings"]}
    settings |= {"features": manifest["features"], "tagger": manifest["tagger"]}
    rows = [
        f" {json.dumps(name)}: {_plain(without_folders_in(value))}"
        for name, value in settings.items()
    ]
    return ["## Settings", "```json", "{", ",\n".join(rows), "}", "```"]


def without_folders_in(value: Any) -> str:
    """Return settings as JSON in which paths have lost their folders."""
    return json.dumps(_mapped(value), ensure_ascii=False)


def _limits(manifest: Mapping[str, Any]) -> list[str]:
    facts = manifest.get("facts", {})
    calibrated = bool(manifest["scores"])
    lines = [
        "## Intended use and limits",
        "- It suggests labels for texts like those it learned from. Scores and probabilities do "
        "not hold for other kinds of texts, nor for other languages.",
        f"- It knows its {several(manifest['labels'], 'label')} and gives no others. Labels with "
        "few training documents are found less often.",
        "- Probabilities are calibrated on held-out documents."
        if calibrated
        else "- Probabilities may not be calibrated: no scores on held-out documents are kept.",
        "- Labels are suggestions. Have a person check them where they have consequences for "
        "somebody.",
        "- Its files hold the names of all labels and, for most models, the words of the training "
        "texts.",
    ]
    if keeps_texts(manifest):
        lines.append("- Its files hold how the training documents begin; explanations show that.")
    if facts.get("sends_texts"):
        lines.append(
            "- It sends each text to a language model on a server; its settings say which."
        )
    return lines


# --- texts in Markdown and YAML ----------------------------------------------------------------


def _plain(text: str) -> str:
    """Return a text on one line, without what Markdown or a terminal would act on."""
    line = printable(" ".join(str(text).split()))
    return (
        line.translate({ord("|"): "/", ord("`"): "'", ord("<"): "("})
        .encode("utf-8", "replace")
        .decode()
    )


def _yaml(value: Any) -> str:
    text = json.dumps(_mapped(value), ensure_ascii=False)
    return printable(text).encode("utf-8", "replace").decode()


def _mapped(value: Any) -> Any:
    """Return a value of JSON in which no string has folders."""
    if isinstance(value, str):
        return without_folders(value)
    if isinstance(value, Mapping):
        return {name: _mapped(each) for name, each in value.items()}
    return [_mapped(each) for each in value] if isinstance(value, list | tuple) else value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(each)
